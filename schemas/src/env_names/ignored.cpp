// Names of the runtime that change nothing here, each with the reason.
#include "tables.hpp"

namespace nsa {
namespace {

using enum EnvKind;
constexpr auto kNone = EnvScope::no_effect;

constexpr std::string_view kTriton =
    "no Triton kernel is part of this runtime; measure one as a "
    "worker of its own (sweep --worker)";
constexpr std::string_view kCudaExt =
    "the CUDA kernels are rows of the table of variants, built "
    "with the program and chosen by measurement";
constexpr std::string_view kContract =
    "each variant states what it supports, and `variants` "
    "prints it; there is no contract to relax";
constexpr std::string_view kLogs =
    "what ran, and why, is in the telemetry and in `explain`; no "
    "log lines are printed";
constexpr std::string_view kVerifier =
    "every variant is checked against the fp64 oracle before "
    "it counts; nothing is verified inside a call";
constexpr std::string_view kNoShortcut =
    "every variant is exact: the shortcut that it chose does "
    "not exist here";

constexpr EnvName kIgnoredNames[] = {
    {"NSA_TRAIN_SAFE_PACK", boolean, kNone,
     "packed writes its result once, forward as in training"},
    {"NSA_STOPGRAD_GATES", boolean, kNone,
     "training (`run --train`) has the gradient of the gates, too; nothing is detached"},
    {"NSA_FA2_FORCE", boolean, kNone,
     "there is no guard for compute capability 8.9 to lift: what is slow there is measured"},
    {"NSA_ALLOW_ADA", boolean, kNone,
     "there is no guard for compute capability 8.9 to lift: what is slow there is measured"},
    {"NSA_P_GRP_FP32", boolean, kNone, "the top blocks are always picked from fp32 sums"},
    {"NSA_FA2_PREF_FP16", boolean, kNone,
     "inputs are never cast to another dtype: the problem states its own"},
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
     "the window branch is one decision: NSA_USE_FA2_WIN overrides it"},
    {"NSA_STRICT_ASSERTS", boolean, kNone, kVerifier},
    {"NSA_VERIFY_EQ9_MAPPING", boolean, kNone, kVerifier},
    {"NSA_VALIDATE_SELECTION_DETERMINISM", boolean, kNone, kVerifier},
    {"NSA_DEBUG_COMPARE", boolean, kNone, kVerifier},
    {"NSA_NVTX", boolean, kNone,
     "stages are announced to whoever listens; recording a trace switches them on"},
    {"NSA_DEBUG_LOG", boolean, kNone, kLogs},
    {"NSA_LOG_LIMIT", integer, kNone, kLogs},
    {"NSA_DEBUG_TIMING", boolean, kNone, kLogs},
    {"NSA_SDPA_AUDIT", boolean, kNone, kLogs},
    {"NSA_FA2_AUDIT", boolean, kNone, kLogs},
    {"NSA_DEBUG_SHAPES", boolean, kNone, kLogs},
    {"NSA_DEBUG_FA2", boolean, kNone,
     "chooses nothing: 1 prints each gate of fa2 with its reason, once per problem"},
    {"NSA_ENV_STATIC", boolean, kNone,
     "the environment is always read once, when the runtime object is made"},
    // Named in documents of the source, read by none of its code.
    {"NSA_ENABLE_FA2", boolean, kNone, "no code ever read it: use NSA_USE_FA2"},
    {"NSA_PREALLOC_VARLEN_N", integer, kNone, "no code ever read it: use NSA_VARLEN_RESERVE_N"},
    {"NSA_PREALLOC_VARLEN_K", integer, kNone, "no code ever read it: use NSA_VARLEN_RESERVE_K"},
    {"NSA_USE_FA2_SEL", boolean, kNone, "no code ever read it: use NSA_USE_SEL_VARLEN"},
    {"NSA_FA2_HARD_FAIL", boolean, kNone,
     "no code ever read it: `run --strict` makes a slow path an error"},
    {"NSA_CHUNK_T", integer, kNone,
     "no code ever read it: how queries are cut is a coordinate of a variant"},
    {"NSA_GATE_TAU*", text, kNone, "no code ever read it: the gate's temperature is 1"},
    {"NSA_GATE_ENTROPY_*", text, kNone, "no code ever read it"},
    {"NSA_TF32_MATMUL", boolean, kNone, "no code ever read it: precision is part of a variant"},
    {"NSA_PREFILL_BATCH_SIZE", integer, kNone, "no code ever read it: the batch is the caller's"},
    {"NSA_MAX_SEQ_LEN", integer, kNone, "no code ever read it: lengths are the caller's"},
    {"NSA_PARITY_OK", boolean, kNone, "no code ever read it"},
};

}  // namespace

std::span<const EnvName> ignored_env_names() { return kIgnoredNames; }

}  // namespace nsa
