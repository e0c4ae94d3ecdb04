#include "traces.hpp"

#include <filesystem>

#include "nsa/trace/read.hpp"
#include "nsa/trace/step_parts.hpp"
#include "nsa/trace/summary.hpp"
#include "trace/inputs.hpp"

namespace nsa::cli {
namespace {

constexpr std::size_t kMostSteps = 16, kMostKernels = 20;

Json idle_json(const trace::IdleClasses& idle) {
  Json json{{"other", idle.other}};
  const auto put = [&](const char* name, const std::optional<std::int64_t>& ns) {
    if (ns) json[name] = *ns;
  };
  put("host_wait", idle.host_wait);
  put("kernel_wait", idle.kernel_wait);
  put("sync", idle.sync);
  put("blocking_call", idle.blocking_call);
  put("profiler_overhead", idle.profiler_overhead);
  return json;
}

Json step_json(const trace::StepParts& step) {
  Json stages = Json::array();
  for (const trace::StagePart& part : step.stages) stages.push_back({part.stage, part.ns});
  return {{"name", step.name},           {"span_ns", step.span_ns},
          {"stages", std::move(stages)}, {"unattributed_ns", step.unattributed_ns},
          {"idle_ns", step.idle_ns},     {"idle", idle_json(step.idle_by_class_ns)}};
}

Json kernels_json(const trace::Summary& summary) {
  Json list = Json::array();
  if (!summary.kernels_by_name) return list;
  for (const trace::KernelRow& row : *summary.kernels_by_name) {
    if (list.size() == kMostKernels) break;
    list.push_back({row.name.substr(0, 300), row.count, row.total_ns});
  }
  return list;
}

}  // namespace

Json trace_json(const trace::Trace& trace, const trace::Summary& summary) {
  const std::vector<trace::StepParts> steps = trace::step_parts(trace);
  Json shown = Json::array(), devices = Json::array();
  for (const trace::StepParts& step : steps) {
    if (shown.size() < kMostSteps) shown.push_back(step_json(step));
  }
  for (const trace::DeviceSummary& device : summary.devices)
    devices.push_back(device.name.value_or("device " + std::to_string(device.device)));
  Json json{{"name", std::filesystem::path(summary.path).filename().string()},
            {"devices", std::move(devices)},
            {"all_steps", steps.size()},
            {"steps", std::move(shown)},
            {"kernels", kernels_json(summary)}};
  if (summary.memory && summary.memory->peak_allocated_bytes)
    json["peak_allocated_bytes"] = *summary.memory->peak_allocated_bytes;
  if (steps.empty())
    json["why"] = trace.ops.empty() ? "no GPU operation was recorded"
                                    : "its operations are not on one time line";
  return json;
}

Json trace_words() {
  Json what_if = Json::object();
  for (const trace::WhatIfKind& kind : trace::kWhatIfKinds)
    what_if[std::string(kind.what)] = kind.words;
  return {{"what_if", std::move(what_if)}};
}

Json traces_json(const std::vector<std::string>& files) {
  Json list = Json::array();
  for (const std::string& file : trace_files(files)) {
    const trace::Trace trace = trace::read_trace(file);
    list.push_back(trace_json(trace, trace::summarize(trace)));
  }
  return list;
}

}  // namespace nsa::cli
