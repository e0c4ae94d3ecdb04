#include "trace.hpp"

#include <chrono>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "nsa/probes/activity.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

std::int64_t now_ns() {
  // CLOCK_MONOTONIC, as in the records of CUPTI.
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Notes when the runtime launched each stage.
class Windows final : public Observer {
 public:
  void stage_begin(Stage stage, std::string_view variant, std::int64_t, CUstream_st*) override {
    open_.push_back(seen.size());
    seen.push_back({stage, std::string(variant), now_ns(), 0});
  }
  void stage_end(Stage, CUstream_st*) override {
    seen[open_.back()].end_ns = now_ns();
    open_.pop_back();
  }
  std::vector<reports::StageWindow> seen;

 private:
  std::vector<std::size_t> open_;
};

std::vector<reports::SeenKernel> kernels_of(const probes::ActivityTrace& activity) {
  std::unordered_map<std::uint64_t, std::int64_t> launched;  // by correlation
  for (const auto& call : activity.calls) launched.try_emplace(call.correlation, call.start_ns);
  std::vector<reports::SeenKernel> kernels;
  for (const auto& kernel : activity.kernels) {
    const auto at = launched.find(kernel.correlation);
    kernels.push_back(
        {activity.texts.at(kernel.name), at != launched.end() ? at->second : kernel.start_ns});
  }
  return kernels;
}

void require_visible(const RunDevice& device) {
  if (!device.on_gpu())
    throw EnvironmentError(
        "run --trace: no tracer sees which code ran on a CPU; take --device cuda:0");
  if (const std::string missing = probes::activity_missing(); !missing.empty())
    throw EnvironmentError("run --trace: CUPTI is needed: " + missing);
  if (const std::string holder = probes::activity_holder(); !holder.empty())
    throw EnvironmentError("run --trace: " + holder +
                           " holds CUPTI, which takes one tool at a "
                           "time; end it first");
}

}  // namespace

RunTracer::RunTracer(const RunDevice& device) : device_(device) { require_visible(device); }

void RunTracer::trace(Context context, const std::function<void(const Context&)>& launch) {
  Windows windows;
  Telemetry telemetry;
  context.observer = &windows;
  context.telemetry = &telemetry;
  device_.synchronize();
  probes::ActivitySession session;
  launch(context);
  device_.synchronize();
  const probes::ActivityTrace activity = session.take();
  if (activity.totals.dropped > 0)
    throw EnvironmentError(fmt::format(
        "run --trace: CUPTI lost {} records, so nothing is proven; try again, or fewer --layers",
        activity.totals.dropped));
  steps_.push_back({telemetry.report().engaged, std::move(windows.seen), kernels_of(activity)});
}

reports::KernelProof RunTracer::proof(const TelemetryReport& ran) const {
  return reports::prove_kernels(ran.engaged, steps_, device_.device().backend);
}

}  // namespace nsa::cli
