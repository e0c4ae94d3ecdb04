#include "cupti/counters/profiler_api.hpp"

#include <array>
#include <type_traits>

#include "cupti/counters/metrics.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes::cupti {
namespace {

// CUPTI opens the first by its plain name when it is asked for a metric. It finds what is open
// already, so that a toolkit outside of the loader's path does as well.
constexpr std::array kMetricsFiles{"libnvperf_host.so"};
constexpr std::array kFiles{"libcupti.so.13"};

}  // namespace

template <class Function>
void ProfilerApi::load(Function& function, const char* name) {
  function = library_.function<std::remove_pointer_t<Function>>(name);
  if (!function && missing_.empty()) missing_ = std::string("libcupti.so.13 has no ") + name;
}

ProfilerApi::ProfilerApi() : metrics_(kMetricsFiles), library_(kFiles) {
  if (!metrics_) missing_ = "CUPTI's library of metrics: " + metrics_.reason();
  if (!library_) missing_ = "CUPTI: " + library_.reason();
  load(initialize, "cuptiProfilerInitialize");
  load(deinitialize, "cuptiProfilerDeInitialize");
  load(chip_name, "cuptiDeviceGetChipName");
  load(availability, "cuptiProfilerGetCounterAvailability");
  load(host_initialize, "cuptiProfilerHostInitialize");
  load(host_deinitialize, "cuptiProfilerHostDeinitialize");
  load(host_properties, "cuptiProfilerHostGetMetricProperties");
  load(host_add_metrics, "cuptiProfilerHostConfigAddMetrics");
  load(host_config_size, "cuptiProfilerHostGetConfigImageSize");
  load(host_config, "cuptiProfilerHostGetConfigImage");
  load(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  load(enable, "cuptiRangeProfilerEnable");
  load(disable, "cuptiRangeProfilerDisable");
  load(set_config, "cuptiRangeProfilerSetConfig");
  load(start, "cuptiRangeProfilerStart");
  load(stop, "cuptiRangeProfilerStop");
  load(push_range, "cuptiRangeProfilerPushRange");
  load(pop_range, "cuptiRangeProfilerPopRange");
  load(decode, "cuptiRangeProfilerDecodeData");
  load(data_size, "cuptiRangeProfilerGetCounterDataSize");
  load(data_initialize, "cuptiRangeProfilerCounterDataImageInitialize");
  load(data_info, "cuptiRangeProfilerGetCounterDataInfo");
  load(result_text, "cuptiGetResultString");
}

void ProfilerApi::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  result_text(result, &text);
  throw EnvironmentError(counter_refusal(
      result, std::string(text ? text : "CUPTI error") + " (" + std::to_string(result) + ")",
      call));
}

const ProfilerApi& shared_profiler_api() {
  static const ProfilerApi* const kApi = new ProfilerApi;
  return *kApi;
}

}  // namespace nsa::probes::cupti
