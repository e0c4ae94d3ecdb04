// The functions of CUPTI's range profiler, opened at run time like the others (api.hpp).
#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>

#include "machine/dynamic_library.hpp"

/// Parameters of a call of the profiler: all zero but the size, which says what fields there are.
#define NSA_CUPTI_PARAMS(name, type) \
  type##_Params name{};              \
  name.structSize = type##_Params_STRUCT_SIZE

namespace nsa::probes::cupti {

class ProfilerApi {
 public:
  /// Opens CUPTI and what it needs for metrics; missing() says why it cannot be used.
  ProfilerApi();
  const std::string& missing() const noexcept { return missing_; }

  decltype(&cuptiProfilerInitialize) initialize;
  decltype(&cuptiProfilerDeInitialize) deinitialize;
  decltype(&cuptiDeviceGetChipName) chip_name;
  decltype(&cuptiProfilerGetCounterAvailability) availability;
  decltype(&cuptiProfilerHostInitialize) host_initialize;
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize;
  decltype(&cuptiProfilerHostGetMetricProperties) host_properties;
  decltype(&cuptiProfilerHostConfigAddMetrics) host_add_metrics;
  decltype(&cuptiProfilerHostGetConfigImageSize) host_config_size;
  decltype(&cuptiProfilerHostGetConfigImage) host_config;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) host_evaluate;
  decltype(&cuptiRangeProfilerEnable) enable;
  decltype(&cuptiRangeProfilerDisable) disable;
  decltype(&cuptiRangeProfilerSetConfig) set_config;
  decltype(&cuptiRangeProfilerStart) start;
  decltype(&cuptiRangeProfilerStop) stop;
  decltype(&cuptiRangeProfilerPushRange) push_range;
  decltype(&cuptiRangeProfilerPopRange) pop_range;
  decltype(&cuptiRangeProfilerDecodeData) decode;
  decltype(&cuptiRangeProfilerGetCounterDataSize) data_size;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialize;
  decltype(&cuptiRangeProfilerGetCounterDataInfo) data_info;
  decltype(&cuptiGetResultString) result_text;

  /// EnvironmentError with counter_refusal() unless the result is success.
  void check(CUptiResult result, const char* call) const;

 private:
  template <class Function>
  void load(Function& function, const char* name);

  DynamicLibrary metrics_, library_;
  std::string missing_;
};

/// Opened at the first call and never closed.
const ProfilerApi& shared_profiler_api();

}  // namespace nsa::probes::cupti
