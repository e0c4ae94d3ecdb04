#include <cuda_runtime_api.h>

#include <vector>

#include "cuda/driver.hpp"
#include "cuda/read.hpp"
#include "cupti/counters/host.hpp"
#include "cupti/counters/metrics.hpp"
#include "nsa/probes/launch_counters.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes {
namespace {

using cupti::CounterHost;
using cupti::ProfilerApi;

constexpr int kMostPasses = 64;

const ProfilerApi& usable_api() {
  const ProfilerApi& api = cupti::shared_profiler_api();
  if (!api.missing().empty()) throw EnvironmentError("hardware counters: " + api.missing());
  return api;
}

/// The profiler of this process, from the first call of a session to its last.
class Profiler {
 public:
  explicit Profiler(const ProfilerApi& api) : api_(api) {
    NSA_CUPTI_PARAMS(begun, CUpti_Profiler_Initialize);
    api_.check(api_.initialize(&begun), "cuptiProfilerInitialize");
  }
  ~Profiler() {
    NSA_CUPTI_PARAMS(ended, CUpti_Profiler_DeInitialize);
    api_.deinitialize(&ended);
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

 private:
  const ProfilerApi& api_;
};

/// The context of the device, made current.
CUcontext context_of(int ordinal) {
  NSA_CUDA(cudaSetDevice(ordinal));
  NSA_CUDA(cudaFree(nullptr));
  static const DynamicLibrary* const kDriver = new DynamicLibrary(kDriverFiles);
  auto* current = kDriver->function<int(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (!current || current(&context) != 0 || !context)
    throw EnvironmentError("hardware counters: the driver has no current context");
  return context;
}

std::string chip_of(const ProfilerApi& api, int ordinal) {
  NSA_CUPTI_PARAMS(asked, CUpti_Device_GetChipName);
  asked.deviceIndex = static_cast<std::size_t>(ordinal);
  api.check(api.chip_name(&asked), "cuptiDeviceGetChipName");
  return asked.pChipName;
}

std::vector<std::uint8_t> availability_of(const ProfilerApi& api, CUcontext context) {
  NSA_CUPTI_PARAMS(asked, CUpti_Profiler_GetCounterAvailability);
  asked.ctx = context;
  api.check(api.availability(&asked), "cuptiProfilerGetCounterAvailability");
  std::vector<std::uint8_t> image(asked.counterAvailabilityImageSize);
  asked.pCounterAvailabilityImage = image.data();
  api.check(api.availability(&asked), "cuptiProfilerGetCounterAvailability");
  return image;
}

/// Memory to read, twice as large as L2: what fills the caches without being written.
class CacheFiller {
 public:
  explicit CacheFiller(int ordinal) {
    int l2_bytes = 0;
    NSA_CUDA(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, ordinal));
    bytes_ = 2 * static_cast<std::size_t>(l2_bytes);
  }
  ~CacheFiller() { cudaFree(data_); }
  CacheFiller(const CacheFiller&) = delete;
  CacheFiller& operator=(const CacheFiller&) = delete;

  void fill(cudaStream_t stream) {
    if (!data_) {
      NSA_CUDA(cudaMalloc(&data_, bytes_));
      NSA_CUDA(cudaMemsetAsync(data_, 0, bytes_, stream));
    }
    enqueue_read(data_, bytes_, stream);
    NSA_CUDA(cudaStreamSynchronize(stream));
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

int gpu_ordinal(const Device& device) {
  if (device.backend != Backend::cuda)
    throw InputError("hardware counters are read through CUPTI, which " + device.id + " has not");
  return cuda_ordinal(device.id);
}

}  // namespace

struct CounterSession::State {
  State(const Device& device, CUstream_st* on)
      : ordinal(gpu_ordinal(device)),
        api(usable_api()),
        stream(on),
        context(context_of(ordinal)),
        profiler(api),
        host(api, chip_of(api, ordinal), availability_of(api, context)),
        filler(ordinal) {
    NSA_CUPTI_PARAMS(enabled, CUpti_RangeProfiler_Enable);
    enabled.ctx = context;
    api.check(api.enable(&enabled), "cuptiRangeProfilerEnable");
    ranges = enabled.pRangeProfilerObject;
  }
  ~State() {
    NSA_CUPTI_PARAMS(disabled, CUpti_RangeProfiler_Disable);
    disabled.pRangeProfilerObject = ranges;
    api.disable(&disabled);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void prepare();
  bool pass(void (*launch)(void*), void* launched);
  void decode();

  int ordinal;
  const ProfilerApi& api;
  cudaStream_t stream;
  CUcontext context;
  Profiler profiler;
  CounterHost host;
  CacheFiller filler;
  CUpti_RangeProfiler_Object* ranges = nullptr;
  std::vector<std::uint8_t> data;  // counter data of one range
};

/// Empty counter data for one range, and the order of passes from its beginning.
void CounterSession::State::prepare() {
  auto names = host.metric_names();
  NSA_CUPTI_PARAMS(sized, CUpti_RangeProfiler_GetCounterDataSize);
  sized.pRangeProfilerObject = ranges;
  sized.pMetricNames = names.data();
  sized.numMetrics = names.size();
  sized.maxNumOfRanges = 1;
  sized.maxNumRangeTreeNodes = 1;
  api.check(api.data_size(&sized), "cuptiRangeProfilerGetCounterDataSize");
  data.assign(sized.counterDataSize, 0);
  NSA_CUPTI_PARAMS(emptied, CUpti_RangeProfiler_CounterDataImage_Initialize);
  emptied.pRangeProfilerObject = ranges;
  emptied.counterDataSize = data.size();
  emptied.pCounterData = data.data();
  api.check(api.data_initialize(&emptied), "cuptiRangeProfilerCounterDataImageInitialize");
  NSA_CUPTI_PARAMS(set, CUpti_RangeProfiler_SetConfig);
  set.pRangeProfilerObject = ranges;
  set.configSize = host.config().size();
  set.pConfig = host.config().data();
  set.counterDataImageSize = data.size();
  set.pCounterDataImage = data.data();
  // A range of ours around all kernels of the launch, and passes that we repeat: kernels neither
  // run one by one nor have their memory saved and restored.
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 1;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.targetNestingLevel = 1;
  api.check(api.set_config(&set), "cuptiRangeProfilerSetConfig");
}

/// One launch in a range; whether it was the last pass. The device is idle before and after.
bool CounterSession::State::pass(void (*launch)(void*), void* launched) {
  NSA_CUPTI_PARAMS(started, CUpti_RangeProfiler_Start);
  started.pRangeProfilerObject = ranges;
  api.check(api.start(&started), "cuptiRangeProfilerStart");
  NSA_CUPTI_PARAMS(pushed, CUpti_RangeProfiler_PushRange);
  pushed.pRangeProfilerObject = ranges;
  pushed.pRangeName = "launch";
  api.check(api.push_range(&pushed), "cuptiRangeProfilerPushRange");
  NSA_CUPTI_PARAMS(popped, CUpti_RangeProfiler_PopRange);
  popped.pRangeProfilerObject = ranges;
  NSA_CUPTI_PARAMS(stopped, CUpti_RangeProfiler_Stop);
  stopped.pRangeProfilerObject = ranges;
  try {
    launch(launched);
  } catch (...) {  // the session is of no more use, and can be ended
    api.pop_range(&popped);
    api.stop(&stopped);
    throw;
  }
  // The device ends the range after what was launched. Waiting before would count what the idle
  // device writes back from L2.
  api.check(api.pop_range(&popped), "cuptiRangeProfilerPopRange");
  api.check(api.stop(&stopped), "cuptiRangeProfilerStop");
  NSA_CUDA(cudaStreamSynchronize(stream));
  return stopped.isAllPassSubmitted != 0;
}

void CounterSession::State::decode() {
  NSA_CUPTI_PARAMS(decoded, CUpti_RangeProfiler_DecodeData);
  decoded.pRangeProfilerObject = ranges;
  api.check(api.decode(&decoded), "cuptiRangeProfilerDecodeData");
  NSA_CUPTI_PARAMS(info, CUpti_RangeProfiler_GetCounterDataInfo);
  info.pCounterDataImage = data.data();
  info.counterDataImageSize = data.size();
  api.check(api.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo");
  if (decoded.numOfRangeDropped > 0 || info.numTotalRanges != 1)
    throw EnvironmentError("hardware counters: CUPTI lost the range of the launch");
}

CounterSession::CounterSession(const Device& device, CUstream_st* stream)
    : state_(std::make_unique<State>(device, stream)) {}

CounterSession::~CounterSession() = default;

LaunchCounters CounterSession::read(bool cold, void (*launch)(void*), void* context) {
  State& s = *state_;
  launch(context);
  NSA_CUDA(cudaStreamSynchronize(s.stream));
  s.prepare();
  int passes = 0;
  for (bool done = false; !done; ++passes) {
    if (passes == kMostPasses)
      throw EnvironmentError("hardware counters: CUPTI asks for more passes than it can need");
    if (cold) s.filler.fill(s.stream);
    done = s.pass(launch, context);
  }
  s.decode();
  LaunchCounters counters = cupti::counters_of(s.host.chip(), s.host.evaluate(s.data));
  counters.passes = passes;
  return counters;
}

}  // namespace nsa::probes
