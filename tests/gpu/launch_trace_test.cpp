// What a launch of each row really does: its kernels are those that it claims, and the fast ones
// neither allocate, nor wait, nor copy to or from the host.
#include "nsa/probes/launch_trace.hpp"

#include <algorithm>
#include <set>

#include "cupti.hpp"
#include "nsa/kernels/kernel_names.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// attention, layer or model; rows that run others in turn are none of these.
bool is_whole(const Variant& variant) { return variant.stages.front() >= Stage::attention; }

/// Heads and geometry of the 125M model; decode too, because a row may have another kernel for it.
std::vector<Problem> problems(std::initializer_list<Dtype> dtypes) {
  std::vector<Problem> all;
  for (const Dtype dtype : dtypes) {
    all.push_back(small_problem({300}, {0}, 12, 2, 64, 64, dtype));
    all.push_back(small_problem({1, 1}, {300, 90}, 12, 2, 64, 64, dtype));
  }
  for (Problem& problem : all) {
    problem.geometry = Geometry{};
    problem.model = {256, 2, 100};
  }
  return all;
}

/// Calls `check` with the trace of each point of a row that runs here.
template <class Check>
void trace_row(const Variant& variant, const Problem& problem, const Device& device,
               CUstream_st* stream, Check check) {
  const auto in = upload(make_inputs(variant.stages, problem, 7), stream);
  const auto out = upload(make_outputs(variant.stages, problem), stream);
  for (const VariantId& id : ids_of(variant)) {
    Launchable launchable(variant, problem, views(in), views(out), stream, nullptr, id.point);
    launchable.launch();  // workspaces and plans of libraries grow here
    INFO(to_string(id) << " " << describe(problem));
    check(id, probes::trace_launch(device, stream, 0, launch_it, &launchable));
  }
}

/// Rows of the device that `wanted` takes, on each problem that they support.
template <class Wanted, class Check>
void trace_rows(const Device& device, std::initializer_list<Dtype> dtypes, Wanted wanted,
                Check check) {
  const Stream stream;
  // As long as it lives, all traces share one session: opening one takes long.
  const auto session = probes::make_timer(device, Timer::cupti, stream.get());
  for (const Variant* row : cuda_rows(wanted)) {
    const Variant& variant = *row;
    for (const Problem& problem : problems(dtypes)) {
      if (!supports(variant, problem, device).supported) continue;
      trace_row(variant, problem, device, stream.get(),
                [&](const VariantId& id, const LaunchTrace& trace) { check(variant, id, trace); });
    }
  }
}

bool contains_any(const std::string& name, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("each row runs the kernels that it claims and no others", "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  std::int64_t launches = 0;
  trace_rows(
      *device, {Dtype::bf16, Dtype::fp16, Dtype::fp32},
      [](const Variant& variant) { return !is_whole(variant); },
      [&](const Variant& variant, const VariantId&, const LaunchTrace& trace) {
        const auto claimed = claimed_kernels(variant);
        CHECK(trace.dropped == 0);
        bool own = claimed.own.empty() && trace.kernels.empty();
        std::string ran;
        for (const TracedKernel& kernel : trace.kernels) {
          const bool is_own = contains_any(kernel.name, claimed.own);
          INFO("runs " << kernel.name);
          CHECK((is_own || contains_any(kernel.name, claimed.helpers)));
          own = own || is_own;
          ran += kernel.name + "\n";
        }
        INFO("runs\n" << ran);
        CHECK(own);  // at least one that tells the row from its neighbours
        ++launches;
      });
  CHECK(launches > 50);
}

TEST_CASE(
    "a row neither allocates nor waits nor copies to or from the host, but for those that say "
    "so",
    "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  std::set<std::string_view> waiting, marked;
  trace_rows(
      *device, {Dtype::bf16}, [](const Variant& variant) { return !is_whole(variant); },
      [&](const Variant& variant, const VariantId&, const LaunchTrace& trace) {
        CHECK(trace.allocations == 0);
        if (trace.host_waits > 0) waiting.insert(variant.name);
        if (variant.waits_for_host) {
          marked.insert(variant.name);
          return;
        }
        CHECK(trace.device_to_host_bytes == 0);
        CHECK(trace.host_to_device_bytes == 0);
      });
  CHECK(waiting == marked);
}

TEST_CASE("a whole layer neither allocates nor waits nor copies to or from the host",
          "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  std::int64_t layers = 0;
  trace_rows(
      *device, {Dtype::bf16},
      [](const Variant& variant) {
        return is_whole(variant) && variant.name.starts_with("batched");
      },
      [&](const Variant&, const VariantId&, const LaunchTrace& trace) {
        CHECK(trace.allocations == 0);
        CHECK(trace.host_waits == 0);
        CHECK(trace.device_to_host_bytes == 0);
        CHECK(trace.host_to_device_bytes == 0);
        CHECK(trace.launches > 0);
        ++layers;
      });
  CHECK(layers >= 6);  // four rows of attention, layer, model
}

TEST_CASE("the window branch of batched_streams runs on a stream of its own", "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  const Stream stream;
  const Stage stage[] = {Stage::attention};
  const Problem p = problems({Dtype::bf16}).front();
  const auto in = upload(make_inputs(stage, p, 7), stream.get());
  const auto out = upload(make_outputs(stage, p), stream.get());
  Launchable launchable(cuda_row(stage, "batched_streams"), p, views(in), views(out), stream.get());
  launchable.launch();
  device::synchronize(stream.get());
  probes::ActivitySession session;
  launchable.launch();
  device::synchronize(stream.get());
  const probes::ActivityTrace trace = session.take();
  std::set<std::uint32_t> window, others;
  for (const auto& kernel : trace.kernels) {
    const bool is_window = trace.texts.at(kernel.name).find("WindowBand") != std::string::npos;
    (is_window ? window : others).insert(kernel.stream);
  }
  REQUIRE(window.size() == 1);
  REQUIRE(others.size() == 1);
  CHECK(*window.begin() != *others.begin());
}

TEST_CASE("the timers agree within 2 % on kernels of more than 50 us", "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  const Stream stream;
  Problem problem = small_problem({4096}, {0}, 12, 2, 64, 64, Dtype::bf16);
  problem.geometry = Geometry{};
  for (const char* name : {"gather", "fused_query"}) {
    const Variant& row = cuda_row(Stage::attend_selected, name);
    const auto in = upload(make_inputs(Stage::attend_selected, problem, 1), stream.get());
    const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
    Launchable launchable(row, problem, views(in), views(out), stream.get(), nullptr,
                          ids_of(row).front().point);
    launchable.launch();
    const LaunchTrace trace =
        probes::trace_launch(*device, stream.get(), 15, launch_it, &launchable);
    REQUIRE(trace.cupti_ns);
    REQUIRE(trace.events_ns);
    INFO(name << ": CUPTI " << *trace.cupti_ns << " ns, events " << *trace.events_ns << " ns");
    WARN(name << ": CUPTI " << *trace.cupti_ns << " ns, events " << *trace.events_ns << " ns");
    CHECK(*trace.cupti_ns > 50'000);
    CHECK(trace.note.empty());
  }
}
