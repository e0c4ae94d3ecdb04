// Names that change a decision, a workspace or a constant of the runtime.
#include "tables.hpp"

namespace nsa {
namespace {

using enum EnvKind;
constexpr auto kRuntime = EnvScope::runtime;

constexpr EnvName kRuntimeNames[] = {
    // attention as a whole
    {"NSA_PREFILL_BATCHED", boolean, kRuntime,
     "attention, layer, model: 1 takes batched, 0 takes sequential"},
    {"NSA_PREFILL_TILE", integer, kRuntime,
     "attention, layer, model: above 0 takes sequential; the value itself is not used"},
    {"NSA_FORCE_PARITY", boolean, kRuntime,
     "attend_selected: 1 switches the fast paths off; what is left is masked where "
     "NSA_USE_SEL_MASK asks for it in a batched prefill, else gather or ranges"},
    // selected attention
    {"NSA_FORCE_SEL_MASK", boolean, kRuntime, "attend_selected: 1 takes masked before all else"},
    {"NSA_USE_SEL_MASK", boolean, kRuntime, "attend_selected: 1 takes masked, 0 rules it out"},
    {"NSA_USE_SEL_PACK", boolean, kRuntime,
     "attend_selected: 1 takes packed; 0 with no other path on leaves ranges, the slow path"},
    {"NSA_USE_SEL_VARLEN", boolean, kRuntime,
     "attend_selected: 1 takes varlen_v2 (or v1), 0 rules both out"},
    {"NSA_SEL_VARLEN_V2", boolean, kRuntime,
     "attend_selected: which varlen runs where varlen runs, 1 = varlen_v2, 0 = varlen_v1"},
    {"NSA_SEL_VARLEN_MIN_L", integer, kRuntime,
     "attend_selected: packed instead of varlen_v2 while the longest row has fewer tokens"},
    {"NSA_SEL_VARLEN_FORCE_PARITY", boolean, kRuntime,
     "attend_selected: 1 takes packed wherever varlen would run"},
    // range converter
    {"NSA_SEL_RANGES_V2", boolean, kRuntime, "ranges: 1 takes ranges_v2, 0 takes ranges_v1"},
    {"NSA_SEL_RANGES_V2_MIN_S", integer, kRuntime,
     "ranges: ranges_v2 from this many new tokens on, ranges_v1 below; NSA_SEL_RANGES_V2 wins"},
    // FlashAttention-2 in the dense branches
    {"NSA_USE_FA2", boolean, kRuntime,
     "attend_window, attend_compressed: 1 takes fa2, 0 rules it out; a branch's own flag wins"},
    {"NSA_USE_FA2_WIN", boolean, kRuntime, "attend_window: 1 takes fa2, 0 rules it out"},
    {"NSA_USE_FA2_CMP", boolean, kRuntime, "attend_compressed: 1 takes fa2, 0 rules it out"},
    {"NSA_FA2_MIN_LEN_WIN", integer, kRuntime,
     "attend_window: no fa2 while the longest row has fewer tokens; 0 or less: never"},
    {"NSA_FA2_MIN_LEN_CMP", integer, kRuntime,
     "attend_compressed: no fa2 below this many compressed tokens; 0 or less: never"},
    {"NSA_ALLOW_SLIDING_FA2", boolean, kRuntime,
     "attend_window: 0 rules fa2 out; 1 changes nothing, as it is exact here"},
    {"NSA_FA2_FORCE_VARLEN", boolean, kRuntime,
     "attend_window, attend_compressed: fa2_varlen wherever fa2 runs; wins over the dense forms"},
    {"NSA_FA2_FORCE_DENSE", boolean, kRuntime,
     "attend_window, attend_compressed: fa2_dense wherever fa2 runs"},
    {"NSA_WIN_FORCE_DENSE", boolean, kRuntime, "attend_window: fa2_dense wherever fa2 runs"},
    // precision and gates
    {"NSA_P_CMP_MIXED", boolean, kRuntime, "score: 1 takes p_cmp_bf16, 0 rules it out"},
    {"NSA_P_SLC_MIXED", boolean, kRuntime, "score: 1 takes p_slc_bf16, 0 rules it out"},
    {"NSA_GATE_COMPILE", boolean, kRuntime, "gate_combine: 1 takes gate_fused, 0 rules it out"},
    // workspaces
    {"NSA_VARLEN_RESERVE_N", integer, kRuntime, "reserve: rows of varlen, 1000000 at most"},
    {"NSA_VARLEN_RESERVE_K", integer, kRuntime,
     "reserve: packed tokens of varlen, 100000000 at most"},
    {"NSA_SEL_PACK_RESERVE_N", integer, kRuntime, "reserve: rows of packed, 100000 at most"},
    {"NSA_SEL_PACK_RESERVE_L", integer, kRuntime,
     "reserve: tokens per row of packed, 10000 at most"},
    // constants
    {"NSA_ROPE_SCALE", real, kRuntime, "divides the positions of RoPE; 0, negative, NaN: 1"},
    {"NSA_FORCE_BRANCH", text, kRuntime, "gate of one branch only: cmp, sel or win"},
    {"NSA_FORCE_UNIFORM_GATE", boolean, kRuntime, "1: every gate is 1/3"},
};

}  // namespace

std::span<const EnvName> runtime_env_names() { return kRuntimeNames; }

}  // namespace nsa
