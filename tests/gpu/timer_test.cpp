// Timers, graphs and memory on a device.
#include <memory>

#include "gpu.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/probes.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

void replay_it(void* graph) { static_cast<probes::GraphReplay*>(graph)->launch(); }

const Variant& selected(const char* name) { return cuda_row(Stage::attend_selected, name); }

}  // namespace

TEST_CASE("a sample by events holds device time, host time and cycles of one launch", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Problem problem = small_problem({256}, {0}, 12, 2, 64, 64, Dtype::bf16);
  const auto in = upload(make_inputs(Stage::attend_selected, problem, 1), stream.get());
  const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
  Launchable launchable(selected("gather"), problem, views(in), views(out), stream.get());
  const auto timer = probes::make_timer(*device, Timer::events, stream.get());
  std::int64_t last_start = 0;
  for (int i = 0; i < 5; ++i) {
    timer->flush_caches();
    const Sample sample = timer->time(launch_it, &launchable);
    CHECK(sample.device_ns > 0);
    CHECK(sample.host_ns >= sample.device_ns / 2);  // two clocks, so no exact order
    CHECK(sample.start_ns > last_start);
    last_start = sample.start_ns;
    if (!device->mig.value_or(false)) {
      REQUIRE(sample.cycles);
      CHECK(*sample.cycles > 0);
    }
  }
}

TEST_CASE("a launch by graph writes what the eager launch writes", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Problem problem = small_problem({90, 3}, {0, 40}, 6, 2, 64, 64, Dtype::bf16);
  const auto in = upload(make_inputs(Stage::attend_selected, problem, 1), stream.get());
  for (const char* name : {"masked", "gather"}) {
    INFO(name);
    const auto eager = upload(make_outputs(Stage::attend_selected, problem), stream.get());
    const auto replayed = upload(make_outputs(Stage::attend_selected, problem), stream.get());
    Launchable(selected(name), problem, views(in), views(eager), stream.get()).launch();
    Launchable second(selected(name), problem, views(in), views(replayed), stream.get());
    const auto graph = probes::capture_graph(*device, stream.get(), launch_it, &second);
    const auto poison = make_outputs(Stage::attend_selected, problem);
    CHECK(replayed.front().download(stream.get()).bytes == poison.front().bytes);
    const auto timer = probes::make_timer(*device, Timer::events, stream.get());
    timer->time(replay_it, graph.get());
    CHECK(replayed.front().download(stream.get()).bytes ==
          eager.front().download(stream.get()).bytes);
  }
}

TEST_CASE("a launch that waits for the device cannot be a graph, and the stream goes on working",
          "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  const Problem problem = small_problem({20}, {0}, 6, 2, 64, 64, Dtype::bf16);
  const auto in = upload(make_inputs(Stage::attend_selected, problem, 1), stream.get());
  const auto out = upload(make_outputs(Stage::attend_selected, problem), stream.get());
  Launchable launchable(selected("ranges"), problem, views(in), views(out), stream.get());
  CHECK_THROWS_AS(probes::capture_graph(*device, stream.get(), launch_it, &launchable),
                  probes::NotCapturable);
  CHECK_NOTHROW(launchable.launch());
  CHECK_NOTHROW(device::synchronize(stream.get()));
}

TEST_CASE("memory that is not there is out of memory, and the device goes on working", "[gpu]") {
  if (!gpu_or_skip()) return;
  CHECK_THROWS_AS(device::Buffer(std::size_t{1} << 50), OutOfMemory);
  const device::MemoryInfo memory = device::memory_info();
  CHECK(memory.free_bytes > 0);
  CHECK(memory.free_bytes <= memory.total_bytes);
  const Stream stream;
  const device::Buffer buffer(4096);
  device::fill(buffer.data(), std::byte{0x5a}, buffer.bytes(), stream.get());
  std::vector<std::byte> host(buffer.bytes());
  device::copy_to_host(host.data(), buffer.data(), host.size(), stream.get());
  device::synchronize(stream.get());
  CHECK(host.front() == std::byte{0x5a});
  CHECK(host.back() == std::byte{0x5a});
}
