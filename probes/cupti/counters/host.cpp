#include "cupti/counters/host.hpp"

#include "cupti/counters/metrics.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes::cupti {

CounterHost::CounterHost(const ProfilerApi& api, const std::string& chip,
                         const std::vector<std::uint8_t>& availability)
    : api_(api), chip_(chip) {
  NSA_CUPTI_PARAMS(made, CUpti_Profiler_Host_Initialize);
  made.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  made.pChipName = chip_.c_str();
  made.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  api_.check(api_.host_initialize(&made), "cuptiProfilerHostInitialize");
  host_ = made.pHostObject;
  metrics_ = choose_metrics([this](const std::string& metric) { return has(metric); });
  if (metrics_.empty())
    throw EnvironmentError("hardware counters: " + chip_ + " has none of those that are read");
  configure();
}

CounterHost::~CounterHost() {
  NSA_CUPTI_PARAMS(ended, CUpti_Profiler_Host_Deinitialize);
  ended.pHostObject = host_;
  api_.host_deinitialize(&ended);
}

std::vector<const char*> CounterHost::metric_names() const {
  std::vector<const char*> names;
  for (const std::string& metric : metrics_) names.push_back(metric.c_str());
  return names;
}

bool CounterHost::has(const std::string& metric) const {
  NSA_CUPTI_PARAMS(asked, CUpti_Profiler_Host_GetMetricProperties);
  asked.pHostObject = host_;
  asked.pMetricName = metric.c_str();
  const CUptiResult result = api_.host_properties(&asked);
  if (result == CUPTI_ERROR_INVALID_METRIC_NAME) return false;
  api_.check(result, "cuptiProfilerHostGetMetricProperties");
  return true;
}

void CounterHost::configure() {
  auto names = metric_names();
  NSA_CUPTI_PARAMS(added, CUpti_Profiler_Host_ConfigAddMetrics);
  added.pHostObject = host_;
  added.ppMetricNames = names.data();
  added.numMetrics = names.size();
  api_.check(api_.host_add_metrics(&added), "cuptiProfilerHostConfigAddMetrics");
  NSA_CUPTI_PARAMS(sized, CUpti_Profiler_Host_GetConfigImageSize);
  sized.pHostObject = host_;
  api_.check(api_.host_config_size(&sized), "cuptiProfilerHostGetConfigImageSize");
  config_.resize(sized.configImageSize);
  NSA_CUPTI_PARAMS(image, CUpti_Profiler_Host_GetConfigImage);
  image.pHostObject = host_;
  image.pConfigImage = config_.data();
  image.configImageSize = config_.size();
  api_.check(api_.host_config(&image), "cuptiProfilerHostGetConfigImage");
}

std::vector<CounterMetric> CounterHost::evaluate(const std::vector<std::uint8_t>& data) const {
  auto names = metric_names();
  std::vector<double> values(names.size());
  NSA_CUPTI_PARAMS(asked, CUpti_Profiler_Host_EvaluateToGpuValues);
  asked.pHostObject = host_;
  asked.pCounterDataImage = data.data();
  asked.counterDataImageSize = data.size();
  asked.rangeIndex = 0;
  asked.ppMetricNames = names.data();
  asked.numMetrics = names.size();
  asked.pMetricValues = values.data();
  api_.check(api_.host_evaluate(&asked), "cuptiProfilerHostEvaluateToGpuValues");
  std::vector<CounterMetric> metrics;
  for (std::size_t i = 0; i < values.size(); ++i) metrics.push_back({metrics_[i], values[i]});
  return metrics;
}

}  // namespace nsa::probes::cupti
