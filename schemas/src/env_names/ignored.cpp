// Names of the runtime that change nothing here, each with the reason.
#include "tables.hpp"

namespace nsa {
namespace {

using enum EnvKind;
constexpr auto kNone = EnvScope::no_effect;

constexpr std::string_view kTriton =
    "this runtime has no Triton kernels; measure yours as a "
    "worker (sweep --worker)";
constexpr std::string_view kCudaExt =
    "the CUDA kernels are variants like all others: built with the "
    "program and chosen by measurement";
constexpr std::string_view kContract =
    "each variant states what it supports, and `variants` "
    "prints it; there is no check to relax";
constexpr std::string_view kLogs =
    "telemetry and `explain` say what ran and why; there are no "
    "log lines";
constexpr std::string_view kVerifier =
    "every variant is checked against the fp64 oracle before "
    "its times count; nothing is verified during a call";
constexpr std::string_view kNoShortcut =
    "every variant is exact: the shortcut that it selects does "
    "not exist here";

constexpr EnvName kIgnoredNames[] = {
    {"NSA_TRAIN_SAFE_PACK", boolean, kNone,
     "packed always writes its result only once, also in training"},
    {"NSA_STOPGRAD_GATES", boolean, kNone,
     "training (`run --train`) always computes the gradient of the gates"},
    {"NSA_FA2_FORCE", boolean, kNone,
     "nothing is blocked on compute capability 8.9 here: measurements show what is slow there"},
    {"NSA_ALLOW_ADA", boolean, kNone,
     "nothing is blocked on compute capability 8.9 here: measurements show what is slow there"},
    {"NSA_P_GRP_FP32", boolean, kNone, "the top blocks are always chosen from fp32 sums"},
    {"NSA_FA2_PREF_FP16", boolean, kNone,
     "inputs are never cast to another dtype than the one that the problem states"},
    {"NSA_FA2_ALLOW_FP32", boolean, kNone, kContract},
    {"NSA_FA2_ALLOW_D_GT_128", boolean, kNone, kContract},
    {"NSA_FA2_ALLOW_LARGE_BATCH", boolean, kNone, kContract},
    {"NSA_USE_TRITON_SEL", boolean, kNone, kTriton},
    {"NSA_TRITON_SEL_FORCE", boolean, kNone, kTriton},
    {"NSA_SEL_TRITON_ALLOW_GRAD", boolean, kNone, kTriton},
    {"NSA_SEL_TRITON_MIN_L", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_GROUP", boolean, kNone, kTriton},
    {"NSA_SEL_TRITON_FORCE_PATH", text, kNone, kTriton},
    {"NSA_SEL_TRITON_REQUIRE_ALIGN", boolean, kNone, kTriton},
    {"NSA_SEL_TRITON_BLOCK_D", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_BLOCK_L", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_BLOCK_DV", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_BLOCK_H", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_PACK_CACHE_MAX_ENTRIES", integer, kNone, kTriton},
    {"NSA_SEL_TRITON_PACK_CACHE_MAX_MB", integer, kNone, kTriton},
    {"NSA_SEL_CUDA", boolean, kNone, kCudaExt},
    {"NSA_SEL_CUDA_BUILD", boolean, kNone, kCudaExt},
    {"NSA_DEBUG_BUILD", boolean, kNone, kCudaExt},
    {"NSA_USE_CMP_MASK", boolean, kNone, kNoShortcut},
    {"NSA_USE_WIN_MASK", boolean, kNone,
     "one decision covers the window branch; NSA_USE_FA2_WIN overrides it"},
    {"NSA_STRICT_ASSERTS", boolean, kNone, kVerifier},
    {"NSA_VERIFY_EQ9_MAPPING", boolean, kNone, kVerifier},
    {"NSA_VALIDATE_SELECTION_DETERMINISM", boolean, kNone, kVerifier},
    {"NSA_DEBUG_COMPARE", boolean, kNone, kVerifier},
    {"NSA_NVTX", boolean, kNone,
     "stages are announced whenever somebody listens, as while a trace is recorded"},
    {"NSA_DEBUG_LOG", boolean, kNone, kLogs},
    {"NSA_LOG_LIMIT", integer, kNone, kLogs},
    {"NSA_DEBUG_TIMING", boolean, kNone, kLogs},
    {"NSA_SDPA_AUDIT", boolean, kNone, kLogs},
    {"NSA_FA2_AUDIT", boolean, kNone, kLogs},
    {"NSA_DEBUG_SHAPES", boolean, kNone, kLogs},
    {"NSA_DEBUG_FA2", boolean, kNone,
     "does not change what runs: 1 prints each condition of fa2 with its reason, once per problem"},
    {"NSA_ENV_STATIC", boolean, kNone,
     "the environment is always read only once, when the runtime object is created"},
    // Named in documents of the source, read by none of its code.
    {"NSA_ENABLE_FA2", boolean, kNone, "no code ever read it: use NSA_USE_FA2"},
    {"NSA_PREALLOC_VARLEN_N", integer, kNone, "no code ever read it: use NSA_VARLEN_RESERVE_N"},
    {"NSA_PREALLOC_VARLEN_K", integer, kNone, "no code ever read it: use NSA_VARLEN_RESERVE_K"},
    {"NSA_USE_FA2_SEL", boolean, kNone, "no code ever read it: use NSA_USE_SEL_VARLEN"},
    {"NSA_FA2_HARD_FAIL", boolean, kNone,
     "no code ever read it: with `run --strict` a slow path means exit 1"},
    {"NSA_CHUNK_T", integer, kNone,
     "no code ever read it: a coordinate of each variant says how queries are split"},
    {"NSA_GATE_TAU*", text, kNone, "no code ever read it: the gate's temperature is 1"},
    {"NSA_GATE_ENTROPY_*", text, kNone, "no code ever read it"},
    {"NSA_TF32_MATMUL", boolean, kNone, "no code ever read it: precision is part of a variant"},
    {"NSA_PREFILL_BATCH_SIZE", integer, kNone,
     "no code ever read it: the caller decides the batch"},
    {"NSA_MAX_SEQ_LEN", integer, kNone, "no code ever read it: the caller decides the lengths"},
    {"NSA_PARITY_OK", boolean, kNone, "no code ever read it"},
};

}  // namespace

std::span<const EnvName> ignored_env_names() { return kIgnoredNames; }

}  // namespace nsa
