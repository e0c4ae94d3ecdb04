#include "nsa/probes/launch_trace.hpp"

#include "catch.hpp"

using namespace nsa;
using namespace nsa::probes;

namespace {

spool::SpoolKernel kernel(std::uint32_t name, std::int64_t start_ns, std::int64_t end_ns) {
  spool::SpoolKernel k;
  k.name = name;
  k.start_ns = start_ns;
  k.end_ns = end_ns;
  return k;
}

spool::SpoolApi call(std::uint32_t name, std::int64_t start_ns, std::uint64_t correlation) {
  spool::SpoolApi c;
  c.name = name;
  c.start_ns = start_ns;
  c.end_ns = start_ns + 1;
  c.correlation = correlation;
  return c;
}

spool::SpoolCopy copy(std::uint32_t kind, std::uint64_t bytes, std::int64_t start_ns,
                      std::int64_t end_ns) {
  spool::SpoolCopy c;
  c.copy_kind = kind;
  c.bytes = bytes;
  c.start_ns = start_ns;
  c.end_ns = end_ns;
  return c;
}

ActivityTrace activity() {
  ActivityTrace a;
  a.texts = {"",
             "f()",
             "g()",
             "nsa::probes::hold_kernel()",
             "cudaLaunchKernel",
             "cuLaunchKernel",
             "cudaMalloc",
             "cudaStreamSynchronize"};
  a.kernels = {kernel(2, 130, 150), kernel(1, 100, 140), kernel(1, 160, 170), kernel(3, 90, 200),
               kernel(1, 20, 30)};  // the last one belongs to an earlier launch
  a.copies = {copy(1, 64, 200, 210), copy(2, 32, 205, 215), copy(8, 16, 215, 216),
              copy(1, 1000, 10, 11)};
  a.calls = {call(4, 95, 1), call(5, 96, 1),  call(4, 97, 2), call(6, 98, 3),
             call(7, 99, 4), call(7, 300, 5), call(4, 10, 6)};
  return a;
}

}  // namespace

TEST_CASE("busy time is a union: what overlaps counts once, our own timers and earlier work never",
          "[probes]") {
  CHECK(busy_ns(activity(), 50) == 50 + 10 + 16);
  CHECK(busy_ns(activity(), 0) == 50 + 10 + 16 + 10 + 1);
  CHECK(busy_ns(ActivityTrace{}, 0) == 0);
}

TEST_CASE("a launch is told by its kernels, its calls within the launch and its bytes",
          "[probes]") {
  const LaunchTrace t = launch_trace(activity(), 90, 120);
  REQUIRE(t.kernels.size() == 2);
  CHECK(t.kernels[0] == TracedKernel{"f()", 2, 50});
  CHECK(t.kernels[1] == TracedKernel{"g()", 1, 20});
  CHECK(t.launches == 2);  // the driver's call inside a runtime call is no second launch
  CHECK(t.host_waits == 1);
  CHECK(t.allocations == 1);
  CHECK(t.host_to_device_bytes == 64);
  CHECK(t.device_to_host_bytes == 32);
  CHECK(t.device_to_device_bytes == 16);
  CHECK(t.busy_ns == 76);
  CHECK(t.span_ns == 116);
}

TEST_CASE("two timers disagree beyond 2 % on more than 50 us, and on nothing shorter", "[probes]") {
  CHECK(timer_disagreement(100'000, 101'900).empty());
  CHECK(timer_disagreement(100'000, 103'000) ==
        "timers disagree: from first start to last end 100.0 us by CUPTI, 103.0 us by events");
  CHECK_FALSE(timer_disagreement(103'000, 100'000).empty());
  CHECK(timer_disagreement(10'000, 20'000).empty());
  CHECK_FALSE(timer_disagreement(10'000, 60'000).empty());
}
