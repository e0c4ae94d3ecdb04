// Names that change a decision, a workspace or a constant of the runtime.
#include "tables.hpp"

namespace nsa {
namespace {

using enum EnvKind;
constexpr auto kRuntime = EnvScope::runtime;

constexpr EnvName kRuntimeNames[] = {
    // attention as a whole
    {"NSA_PREFILL_BATCHED", boolean, kRuntime,
     "attention, layer, model: 1 selects batched, 0 sequential"},
    {"NSA_PREFILL_TILE", integer, kRuntime,
     "attention, layer, model: any value above 0 selects sequential; the number itself is not "
     "used"},
    {"NSA_FORCE_PARITY", boolean, kRuntime,
     "attend_selected: 1 switches the fast paths off, also those that other switches select; what "
     "remains in a prefill with NSA_PREFILL_BATCHED=1 is masked if NSA_USE_SEL_MASK=1, else "
     "gather; elsewhere ranges, the slow path"},
    // selected attention
    {"NSA_FORCE_SEL_MASK", boolean, kRuntime,
     "attend_selected: 1 selects masked, whatever the other switches say, except for "
     "NSA_FORCE_PARITY=1"},
    {"NSA_USE_SEL_MASK", boolean, kRuntime, "attend_selected: 1 selects masked, 0 excludes it"},
    {"NSA_USE_SEL_PACK", boolean, kRuntime,
     "attend_selected: 1 selects packed; 0 with no other path on leaves only ranges, the slow "
     "path"},
    {"NSA_USE_SEL_VARLEN", boolean, kRuntime,
     "attend_selected: 1 selects varlen_v2 (or varlen_v1, see NSA_SEL_VARLEN_V2), 0 excludes both"},
    {"NSA_SEL_VARLEN_V2", boolean, kRuntime,
     "attend_selected: where varlen runs, 1 selects varlen_v2 and 0 varlen_v1"},
    {"NSA_SEL_VARLEN_MIN_L", integer, kRuntime,
     "attend_selected: packed instead of varlen_v2 if the longest row has fewer tokens than this"},
    {"NSA_SEL_VARLEN_FORCE_PARITY", boolean, kRuntime,
     "attend_selected: 1 selects packed wherever varlen would run"},
    // range converter
    {"NSA_SEL_RANGES_V2", boolean, kRuntime, "ranges: 1 selects ranges_v2, 0 ranges_v1"},
    {"NSA_SEL_RANGES_V2_MIN_S", integer, kRuntime,
     "ranges: ranges_v2 from this many new tokens on, ranges_v1 below; NSA_SEL_RANGES_V2 takes "
     "precedence"},
    // FlashAttention-2 in the dense branches
    {"NSA_USE_FA2", boolean, kRuntime,
     "attend_window, attend_compressed: 1 selects fa2, 0 excludes it; a branch's own flag takes "
     "precedence"},
    {"NSA_USE_FA2_WIN", boolean, kRuntime, "attend_window: 1 selects fa2, 0 excludes it"},
    {"NSA_USE_FA2_CMP", boolean, kRuntime, "attend_compressed: 1 selects fa2, 0 excludes it"},
    {"NSA_FA2_MIN_LEN_WIN", integer, kRuntime,
     "attend_window: no fa2 if the longest row has fewer tokens than this; 0 or less: never fa2"},
    {"NSA_FA2_MIN_LEN_CMP", integer, kRuntime,
     "attend_compressed: no fa2 below this many compressed tokens; 0 or less: never fa2"},
    {"NSA_ALLOW_SLIDING_FA2", boolean, kRuntime,
     "attend_window: 0 excludes fa2 unless one of its forms is forced; 1 is the default here"},
    {"NSA_FA2_FORCE_VARLEN", boolean, kRuntime,
     "attend_window, attend_compressed: fa2_varlen wherever fa2 runs; takes precedence over the "
     "switches for fa2_dense"},
    {"NSA_FA2_FORCE_DENSE", boolean, kRuntime,
     "attend_window, attend_compressed: fa2_dense wherever fa2 runs"},
    {"NSA_WIN_FORCE_DENSE", boolean, kRuntime, "attend_window: fa2_dense wherever fa2 runs"},
    // precision and gates
    {"NSA_P_CMP_MIXED", boolean, kRuntime, "score: 1 selects p_cmp_bf16, 0 excludes it"},
    {"NSA_P_SLC_MIXED", boolean, kRuntime, "score: 1 selects p_slc_bf16, 0 excludes it"},
    {"NSA_GATE_COMPILE", boolean, kRuntime, "gate_combine: 1 selects gate_fused, 0 excludes it"},
    // workspaces
    {"NSA_VARLEN_RESERVE_N", integer, kRuntime,
     "rows for which varlen reserves workspace outside of training, at most 1000000"},
    {"NSA_VARLEN_RESERVE_K", integer, kRuntime,
     "packed tokens for which varlen reserves workspace outside of training, at most 100000000"},
    {"NSA_SEL_PACK_RESERVE_N", integer, kRuntime,
     "rows for which packed reserves workspace outside of training, at most 100000"},
    {"NSA_SEL_PACK_RESERVE_L", integer, kRuntime,
     "tokens per row for which packed reserves workspace outside of training, at most 10000"},
    // constants
    {"NSA_ROPE_SCALE", real, kRuntime,
     "RoPE divides positions by it; 0, a negative number or NaN counts as 1"},
    {"NSA_FORCE_BRANCH", text, kRuntime, "opens the gate of this branch only: cmp, sel or win"},
    {"NSA_FORCE_UNIFORM_GATE", boolean, kRuntime, "1: every gate is 1/3"},
};

}  // namespace

std::span<const EnvName> runtime_env_names() { return kRuntimeNames; }

}  // namespace nsa
