// Rules over traces: a GPU that waits for launches, and a host that cannot launch faster.
#include "trace_rules.hpp"

namespace nsa::test {
namespace {

/// An eager loop: short kernels, each of which begins 6 us after its launch call, so that a launch
/// is pending most of the time.
JsonTrace eager(double kernel_us, double every_us) {
  JsonTrace t;
  for (int i = 0; i < 500; ++i) {
    const double at = every_us * i;
    t.range("aten::mul", at, every_us - .5, 1, "cpu_op");
    t.call("cudaLaunchKernel", i + 1, at + 1, every_us / 2).kernel("k", i + 1, at + 7, kernel_us);
  }
  return t;
}

/// 500 values that the host reads back, one after two kernels each.
JsonTrace reading_back(double kernel_us) {
  JsonTrace t;
  for (int i = 0, id = 1; i < 1000; ++i) {
    const double at = 2 * kernel_us * i;
    t.launched("gemm", id++, at, at + 1, kernel_us);
    if (i % 2 == 0) continue;
    t.range("aten::item", at + 1, kernel_us + 2, 1, "cpu_op");
    t.call("cudaStreamSynchronize", id++, at + 1.5, kernel_us);
  }
  return t;
}

/// Launch calls of `call_us` with kernels that begin 6 us later, on an idle GPU.
JsonTrace slow_calls(double call_us, double kernel_us) {
  JsonTrace t;
  for (int i = 0; i < 200; ++i) {
    const double at = (call_us + kernel_us + 20) * i;
    t.call("cudaLaunchKernel", i + 1, at, call_us).kernel("k", i + 1, at + 6, kernel_us);
  }
  return t;
}

}  // namespace

TEST_CASE("a host that is at work outside of operators is not told to launch faster", "[doctor]") {
  const auto nothing = [](JsonTrace&, double) {};
  const doctor::Report report = report_of(resting(nothing));
  REQUIRE(found(report, "trace_launch_bound"));
  CHECK(found(report, "trace_launch_bound")->message.ends_with(": 50 kernels"));
  for (const char* rule : {"trace_launch_bound", "trace_idle_gpu"}) {
    CHECK(advice(report, rule).find("outside of operators") != std::string::npos);
    CHECK(advice(report, rule).find("graph") == std::string::npos);
    CHECK(advice(report, rule).find("with_stack") != std::string::npos);
  }
  const doctor::Report known = report_of(resting([](JsonTrace& t, double at) {
    t.range("train.py(12): augment", at + 600, 19'000, 1, "python_function");
  }));
  CHECK(advice(known, "trace_launch_bound").find("was in train.py(12): augment") !=
        std::string::npos);
  CHECK(advice(known, "trace_launch_bound").find("with_stack") == std::string::npos);
  CHECK(advice(report_of(eager(2, 10)), "trace_launch_bound").find("graph") != std::string::npos);
}

TEST_CASE("a loop that reads values back is one of tiny kernels only where they are", "[doctor]") {
  CHECK(found(report_of(reading_back(4)), "trace_host_loop"));
  const doctor::Report report = report_of(reading_back(400));
  CHECK_FALSE(found(report, "trace_host_loop"));
  CHECK(found(report, "trace_host_syncs"));
}

TEST_CASE("a gain is the path's or another bound, and its words say which", "[doctor]") {
  JsonTrace t = eager(2, 10);
  t.call("cudaStreamSynchronize", 1000, -3000, 1);  // long before the first kernel
  const doctor::Report report = report_of(t);
  const doctor::Found* bound = found(report, "trace_launch_bound");
  REQUIRE(bound);
  CHECK(bound->gain.at_most_ns == 499 * 8'000);
  CHECK(bound->gain.basis.starts_with("all idle time of the GPU but the profiler's own; the "));
  CHECK(bound->gain.basis.find("shorter without the host's own work") != std::string::npos);
}

TEST_CASE("an eager loop whose launches are pending waits for the host all the same", "[doctor]") {
  const doctor::Report fast = report_of(eager(2, 10));
  const doctor::Found* bound = found(fast, "trace_launch_bound");
  REQUIRE(bound);
  CHECK(*bound->gain.at_most_ns > 3'900'000);  // of 500 times 8 us
  REQUIRE(found(fast, "trace_idle_gpu"));
  CHECK(found(fast, "trace_idle_gpu")->advice.starts_with("the host is too slow: "));
  CHECK_FALSE(found(report_of(eager(9, 10)), "trace_launch_bound"));
}

TEST_CASE("kernels that wait long after their launch do not wait for the host", "[doctor]") {
  // In each step the first kernel comes 3 ms after its launch, the other as the host launches it.
  JsonTrace t;
  for (int step = 0, id = 1; step < 40; ++step, id += 2) {
    const double at = 5000.0 * step;
    t.launched("first", id, at, at + 3000, 100, 7);
    t.launched("second", id + 1, at + 4900, at + 4905, 50, 20);
  }
  const doctor::Report report = report_of(t);
  const doctor::Found* idle = found(report, "trace_idle_gpu");
  REQUIRE(idle);
  CHECK(
      idle->advice.starts_with("most of it passed after the launch: look for streams that wait "
                               "for each other, other processes on this GPU"));
  if (const doctor::Found* bound = found(report, "trace_launch_bound"))
    for (const doctor::Fact& fact : bound->facts)
      CHECK(fact.what.find("had already launched") == std::string::npos);
}

TEST_CASE("a launch call that outlasts its kernel waited for it only where that is long",
          "[doctor]") {
  CHECK(found(report_of(slow_calls(118, 105)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(14, 2)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(24, 15)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(90, 35)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(10, 105)), "trace_launch_blocking"));
}

TEST_CASE("a program that is compiled is not told to compile", "[doctor]") {
  JsonTrace compiled = eager(2, 10);
  for (int step = 0; step < 10; ++step)
    compiled.range("Torch-Compiled Region: 0/0", 500.0 * step - .25, 499.9, 1, "cpu_op");
  for (const char* rule : {"trace_launch_bound", "trace_idle_gpu"}) {
    CHECK(advice(report_of(eager(2, 10)), rule).find("fuse (torch.compile)") != std::string::npos);
    CHECK(advice(report_of(compiled), rule).find("capture a CUDA graph (torch.compile with mode") !=
          std::string::npos);
  }
}

}  // namespace nsa::test
