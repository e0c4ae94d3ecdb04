// CUPTI on a device: what is launched is what is recorded, and no more than that is paid.
#include "nsa/probes/activity.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cupti.hpp"
#include "kernels.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::test;
using probes::ActivityOptions;
using probes::ActivitySession;
using probes::ActivityTrace;

namespace {

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

std::int64_t named(const ActivityTrace& trace, const std::string& part) {
  return std::count_if(trace.kernels.begin(), trace.kernels.end(), [&](const auto& kernel) {
    return trace.texts.at(kernel.name).find(part) != std::string::npos;
  });
}

ActivityOptions kernels_and_calls() {
  ActivityOptions options;
  options.copies = options.synchronisation = options.memory = options.overhead = false;
  return options;
}

}  // namespace

TEST_CASE("a session records kernels, copies, sets, calls and allocations with their times",
          "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  const Stream stream;
  std::vector<std::byte> host(4096);
  ActivitySession session;
  {
    const device::Buffer buffer(4096);
    launch_empty(stream.get());
    device::fill(buffer.data(), std::byte{1}, 4096, stream.get());
    device::copy_to_host(host.data(), buffer.data(), 4096, stream.get());
    device::synchronize(stream.get());
  }
  const ActivityTrace trace = session.take();
  CHECK(trace.totals.dropped == 0);
  REQUIRE(named(trace, "nsa::test::") == 1);
  REQUIRE(trace.sets.size() == 1);
  CHECK(trace.sets.front().bytes == 4096);
  REQUIRE(trace.copies.size() == 1);
  CHECK(trace.copies.front().bytes == 4096);
  CHECK_FALSE(trace.memory.empty());
  REQUIRE(trace.devices.size() >= 1);
  CHECK(trace.texts.at(trace.devices.front().uuid) == device->uuid);
  const auto& kernel = trace.kernels.front();
  CHECK(kernel.end_ns > kernel.start_ns);
  const auto launch = std::find_if(trace.calls.begin(), trace.calls.end(), [&](const auto& call) {
    return call.correlation == kernel.correlation;
  });
  REQUIRE(launch != trace.calls.end());
  CHECK(trace.texts.at(launch->name) == "cudaLaunchKernel");
  CHECK(launch->start_ns <= kernel.start_ns);
  CHECK(launch->thread == static_cast<std::uint32_t>(gettid()));
  for (const auto& call : trace.calls)
    CHECK(trace.texts.at(call.name).find("GetLastError") == std::string::npos);
  CHECK(session.take().kernels.empty());
}

TEST_CASE("a second session in one process is refused, and says who is first", "[gpu][cupti]") {
  if (!gpu_with_cupti()) return;
  const ActivitySession first;
  try {
    const ActivitySession second;
    FAIL("two sessions");
  } catch (const EnvironmentError& error) {
    CHECK(std::string(error.what()).find("holds CUPTI") != std::string::npos);
  }
}

TEST_CASE("a million launches of eight threads are recorded or counted as dropped",
          "[gpu][cupti]") {
  if (!gpu_with_cupti()) return;
  constexpr int kThreads = 8, kEach = 125'000;
  ActivitySession session(kernels_and_calls());
  launch_empty_from_threads(kThreads, kEach);
  const ActivityTrace trace = session.take();
  WARN("recorded " << trace.kernels.size() << ", dropped " << trace.totals.dropped << ", calls "
                   << trace.calls.size());
  CHECK(trace.kernels.size() + trace.totals.dropped == std::size_t{kThreads} * kEach);
  CHECK(trace.totals.launches == std::uint64_t{kThreads} * kEach);
  std::vector<std::pair<std::uint64_t, std::int64_t>> calls;
  for (const auto& call : trace.calls) calls.emplace_back(call.correlation, call.start_ns);
  std::sort(calls.begin(), calls.end());
  std::int64_t without_call = 0, early = 0, worst_ns = 0;
  for (const auto& kernel : trace.kernels) {
    const auto call = std::lower_bound(calls.begin(), calls.end(),
                                       std::pair(kernel.correlation, std::int64_t{0}));
    if (call == calls.end() || call->first != kernel.correlation) {
      ++without_call;
      continue;
    }
    early += call->second > kernel.start_ns;
    worst_ns = std::max(worst_ns, call->second - kernel.start_ns);
  }
  CHECK(without_call == 0);
  // CUPTI maps the device's clock by straight lines, whose error can exceed the few microseconds
  // between a launch and its kernel.
  WARN(early << " start before their launch, by " << worst_ns << " ns at most");
  CHECK(worst_ns < 1'000'000);
}

TEST_CASE("a hundred sessions after one another record all and do not grow", "[gpu][cupti]") {
  if (!gpu_with_cupti()) return;
  constexpr int kSessions = 100, kWarmUp = 10;
  const Stream stream;
  std::int64_t after_warm_up = 0;
  for (int i = 0; i < kSessions + kWarmUp; ++i) {
    ActivitySession session;
    for (int launch = 0; launch < 50; ++launch) launch_empty(stream.get());
    device::synchronize(stream.get());
    const ActivityTrace trace = session.take();
    REQUIRE(named(trace, "nsa::test::") == 50);
    REQUIRE(trace.totals.dropped == 0);
    if (i == kWarmUp - 1) after_warm_up = resident_kib();
  }
  const std::int64_t grown = resident_kib() - after_warm_up;
  WARN("grown by " << grown << " KiB");
  CHECK(grown < 4096);  // one buffer
}

TEST_CASE("kernels of a graph are recorded one by one and share their launch", "[gpu][cupti]") {
  const auto device = gpu_with_cupti();
  if (!device) return;
  const Stream stream;
  const auto five = [](void* on) {
    for (int i = 0; i < 5; ++i) launch_empty(static_cast<CUstream_st*>(on));
  };
  const auto graph = probes::capture_graph(*device, stream.get(), five, stream.get());
  ActivitySession session;
  for (int i = 0; i < 3; ++i) graph->launch();
  device::synchronize(stream.get());
  const ActivityTrace trace = session.take();
  CHECK(named(trace, "nsa::test::") == 15);
  CHECK(trace.totals.graph_launches == 3);
  CHECK(trace.totals.launches == 15);
  for (const auto& kernel : trace.kernels) CHECK(kernel.graph_node != 0);
}
