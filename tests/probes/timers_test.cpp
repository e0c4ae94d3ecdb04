#include <thread>

#include "catch.hpp"
#include "cpu/device.hpp"
#include "cpu/flush.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::probes;

namespace {
constexpr std::int64_t kMiB = 1 << 20;

void sleep_and_count(void* calls) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ++*static_cast<int*>(calls);
}
}  // namespace

TEST_CASE("a flush covers twice the caches, within its bound", "[probes]") {
  CHECK(flush_bytes_per_core(8 * kMiB, kMiB, 2) == 8 * kMiB);         // 16 MiB over two cores
  CHECK(flush_bytes_per_core(480 * kMiB, 2 * kMiB, 2) == 32 * kMiB);  // bounded to 64 MiB
  CHECK(flush_bytes_per_core(16 * kMiB, 2 * kMiB, 64) == 4 * kMiB);   // private caches decide
  CHECK(flush_bytes_per_core(std::nullopt, std::nullopt, 1) == kFlushBoundBytes);
  CHECK(flush_bytes_per_core(100, 7, 1) % 64 == 0);
}

TEST_CASE("a sample of the CPU calls the launch once and holds its time", "[probes]") {
  const auto timer = make_timer(require_device("cpu"), Timer::host, nullptr);
  int calls = 0;
  const std::int64_t before = monotonic_ns();
  const Sample sample = timer->time(sleep_and_count, &calls);
  const std::int64_t after = monotonic_ns();
  CHECK(calls == 1);
  CHECK(sample.host_ns >= 5'000'000);
  CHECK(sample.device_ns == sample.host_ns);
  CHECK(sample.start_ns >= before);
  CHECK(sample.start_ns + sample.host_ns <= after);
  CHECK_FALSE(sample.cycles);  // a reading that was not taken is absent
  timer->flush_caches();
}

TEST_CASE("a timer that a CPU lacks is refused with the one it has", "[probes]") {
  const Device cpu = require_device("cpu");
  CHECK_NOTHROW(make_timer(cpu, Timer::host, nullptr));
  for (const Timer timer : {Timer::events, Timer::cupti}) {
    try {
      make_timer(cpu, timer, nullptr);
      FAIL("accepted");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find("use host") != std::string::npos);
    }
  }
}

TEST_CASE("a launch on a CPU cannot be a graph", "[probes]") {
  int calls = 0;
  CHECK_THROWS_AS(capture_graph(require_device("cpu"), nullptr, sleep_and_count, &calls),
                  NotCapturable);
  CHECK(calls == 0);
}
