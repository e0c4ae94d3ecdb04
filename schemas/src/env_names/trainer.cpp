// Names of training scripts, watchdogs and tests: known, so that they are never warned about.
#include "tables.hpp"

namespace nsa {
namespace {

using enum EnvKind;
constexpr auto kTrainer = EnvScope::trainer;
constexpr std::string_view kShape = "trainer only: shape and optimizer of a training run";
constexpr std::string_view kSdpa = "trainer only: back end of the framework's attention";
constexpr std::string_view kScaler = "trainer only: fp16 loss scaling";
constexpr std::string_view kDdp = "trainer only: distributed training";
constexpr std::string_view kLogging = "trainer only: logging";
constexpr std::string_view kLoader = "trainer only: data loading";
constexpr std::string_view kWatchdog = "trainer only: watchdog";
constexpr std::string_view kTests = "trainer only: enables one of nsa-vibe's tests";

constexpr EnvName kTrainerNames[] = {
    {"NSA_SEQ_LEN", integer, kTrainer, kShape},
    {"NSA_BATCH_SIZE", integer, kTrainer, kShape},
    {"NSA_ACCUM", integer, kTrainer, kShape},
    {"NSA_LR", real, kTrainer, kShape},
    {"NSA_NO_GC", boolean, kTrainer, kShape},
    {"NSA_GC_RANGE", text, kTrainer, kShape},
    {"NSA_GC_REENTRANT", boolean, kTrainer, kShape},
    {"NSA_OPT_FUSED", boolean, kTrainer, kShape},
    {"NSA_SDPA_FLASH_ONLY", boolean, kTrainer, kSdpa},
    {"NSA_SDPA_NO_FLASH", boolean, kTrainer, kSdpa},
    {"NSA_SCALER_INIT_SCALE", real, kTrainer, kScaler},
    {"NSA_SCALER_GROWTH_INTERVAL", integer, kTrainer, kScaler},
    {"NSA_SCALER_GROWTH_FACTOR", real, kTrainer, kScaler},
    {"NSA_SCALER_BACKOFF_FACTOR", real, kTrainer, kScaler},
    {"NSA_DDP_STATIC_GRAPH", boolean, kTrainer, kDdp},
    {"NSA_DDP_FIND_UNUSED", boolean, kTrainer, kDdp},
    {"NSA_DDP_BUCKET_MB", integer, kTrainer, kDdp},
    {"NSA_DDP_COMPRESS", text, kTrainer, kDdp},
    {"NSA_DDP_DISABLE_GC", boolean, kTrainer, kDdp},
    {"NSA_DDP_SAFE_GC_LAYERS", text, kTrainer, kDdp},
    {"NSA_DDP_SAFE_MODE", boolean, kTrainer, kDdp},
    {"NSA_DDP_BROADCAST_BUFFERS", boolean, kTrainer, kDdp},
    {"NSA_DDP_GRAD_AS_BUCKET_VIEW", boolean, kTrainer, kDdp},
    {"NSA_PG_TIMEOUT_MIN", integer, kTrainer, kDdp},
    {"NSA_FSDP_*", text, kTrainer, kDdp},
    {"NSA_TB_DISABLE", boolean, kTrainer, kLogging},
    {"NSA_DISABLE_CSV_LOGS", boolean, kTrainer, kLogging},
    {"NSA_DISABLE_AUX_STATS", boolean, kTrainer, kLogging},
    {"NSA_HEARTBEAT_EVERY", integer, kTrainer, kLogging},
    {"NSA_LOG_GRAD_NORM", boolean, kTrainer, kLogging},
    {"NSA_MEM_DUMP_EVERY", integer, kTrainer, kLogging},
    {"NSA_TRACE_GRADS", boolean, kTrainer, kLogging},
    {"NSA_TRACE_MODULE_BWD", boolean, kTrainer, kLogging},
    {"NSA_TRACE_DDP_BUCKETS", boolean, kTrainer, kLogging},
    {"NSA_DETECT_ANOMALY", boolean, kTrainer, kLogging},
    {"NSA_DEBUG_LOSS", boolean, kTrainer, kLogging},
    {"NSA_FWE_DOC_BATCH", integer, kTrainer, kLoader},
    {"NSA_FWE_PREFETCH", boolean, kTrainer, kLoader},
    {"NSA_FWE_Q", integer, kTrainer, kLoader},
    {"NSA_FWE_WARMUP_BATCHES", integer, kTrainer, kLoader},
    {"NSA_FWE_WARMUP_TIMEOUT", real, kTrainer, kLoader},
    {"NSA_FWE_REPORT_DOCS", integer, kTrainer, kLoader},
    {"NSA_DATALOADER_*", text, kTrainer, kLoader},
    {"NSA_WATCH_INTERVAL_S", real, kTrainer, kWatchdog},
    {"NSA_WATCH_HEARTBEAT_STALL_S", real, kTrainer, kWatchdog},
    {"NSA_WATCH_FLATLINE_N", integer, kTrainer, kWatchdog},
    {"NSA_WATCH_GATE_COLLAPSE_N", integer, kTrainer, kWatchdog},
    {"NSA_WATCH_GATE_ENTROPY_MIN", real, kTrainer, kWatchdog},
    {"NSA_WATCH_GATE_MAX_THRESHOLD", real, kTrainer, kWatchdog},
    {"NSA_WATCH_HALT", boolean, kTrainer, kWatchdog},
    {"NSA_WATCH_LOSS_FLATLINE_N", integer, kTrainer, kWatchdog},
    {"NSA_WATCH_GRAD_ZERO_N", integer, kTrainer, kWatchdog},
    {"NSA_WATCH_FETCH_STALL_RATIO", real, kTrainer, kWatchdog},
    {"NSA_TEST_FA2", boolean, kTrainer, kTests},
    {"NSA_TEST_TRITON_SEL", boolean, kTrainer, kTests},
    {"NSA_TEST_MASKED", boolean, kTrainer, kTests},
    {"NSA_TEST_SEL_PACK", boolean, kTrainer, kTests},
    {"NSA_TEST_SEL_MASK", boolean, kTrainer, kTests},
    {"NSA_TEST_TRAIN", boolean, kTrainer, kTests},
    {"NSA_INTEGRATION_TESTS", boolean, kTrainer, kTests},
    {"NSA_REQUIRE_VARLEN_SEMANTIC", boolean, kTrainer, kTests},
};

}  // namespace

std::span<const EnvName> trainer_env_names() { return kTrainerNames; }

}  // namespace nsa
