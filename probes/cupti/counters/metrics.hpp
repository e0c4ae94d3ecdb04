// Which metrics are read, and what they say of a launch. Pure; names are those of NVIDIA's
// performance counters, "unit__quantity.rollup.submetric".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nsa/schemas/launch_counters.hpp"

namespace nsa::probes::cupti {

/// For each quantity the first of its names that the chip has. Empty: it has none of them.
std::vector<std::string> choose_metrics(const std::function<bool(const std::string&)>& has);

/// Metrics of one range around one launch. What is no finite number was not counted.
LaunchCounters counters_of(const std::string& chip, const std::vector<CounterMetric>& metrics);

/// One line: what a failed call of CUPTI's profiler means for whoever asked for counters, and what
/// to do. `code` is a CUptiResult, `text` CUPTI's own name for it.
std::string counter_refusal(int code, const std::string& text, const char* call);

}  // namespace nsa::probes::cupti
