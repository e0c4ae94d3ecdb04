// The arithmetic below everything: decimal text, sets of time, names.
#include <random>

#include "analyse/intervals.hpp"
#include "analyse/steps/ranges.hpp"
#include "catch.hpp"
#include "read/json/decimal_time.hpp"
#include "read/kernel_names.hpp"

namespace nsa::trace {

TEST_CASE("microseconds become nanoseconds without a double in between", "[trace]") {
  CHECK(microseconds_to_ns("0") == 0);
  CHECK(microseconds_to_ns("12") == 12000);
  CHECK(microseconds_to_ns("4458676522690.655") == 4458676522690655);
  CHECK(microseconds_to_ns("1712195495519689.047") ==
        1712195495519689047);  // a double is 47 ns off
  CHECK(microseconds_to_ns("0.0005") == 1);
  CHECK(microseconds_to_ns("0.0004999") == 0);
  CHECK(microseconds_to_ns("-1.5") == -1500);
  CHECK(microseconds_to_ns("1.5e3") == 1500000);
  CHECK(microseconds_to_ns("25e-1") == 2500);
  CHECK(microseconds_to_ns("1e-9") == 0);
}

TEST_CASE("what is no JSON number or leaves 64 bits is no time", "[trace]") {
  for (const char* text : {"", "-", "+1", "01", "1.", ".5", "1e", "NaN", "Infinity", "1e999", "0x1",
                           "12 ", "9223372036854775.808", "1e4000000000"}) {
    CAPTURE(text);
    CHECK_FALSE(microseconds_to_ns(text).has_value());
  }
  CHECK(microseconds_to_ns("9223372036854775.807") == INT64_MAX);
}

TEST_CASE("sets of time agree with counting every nanosecond", "[trace]") {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Interval> a, b;
    std::vector<char> in_a(60), in_b(60);
    for (auto [set, in] : {std::pair{&a, &in_a}, std::pair{&b, &in_b}}) {
      for (std::int64_t n = draw(8); n > 0; --n) {
        const std::int64_t begin = draw(50), end = begin + draw(10);
        set->push_back({begin, end});
        for (std::int64_t t = begin; t < end; ++t) (*in)[static_cast<std::size_t>(t)] = 1;
      }
    }
    std::int64_t all = 0, both = 0, only_a = 0;
    for (std::size_t t = 0; t < 60; ++t) {
      all += in_a[t];
      both += in_a[t] && in_b[t];
      only_a += in_a[t] && !in_b[t];
    }
    const IntervalSet ua = union_of(a), ub = union_of(b);
    CHECK(length(ua) == all);
    CHECK(length(intersection(ua, ub)) == both);
    CHECK(length(difference(ua, ub)) == only_a);
    CHECK(union_of(ua) == ua);
  }
  CHECK(union_of({{5, 7}, {0, 2}, {2, 4}, {6, 6}}) == IntervalSet{{0, 4}, {5, 7}});
}

TEST_CASE("names are shown as people know them", "[trace]") {
  CHECK(demangled("_ZN3nsa6kernelEv") == "nsa::kernel()");
  CHECK(demangled("_Znot mangled") == "_Znot mangled");
  CHECK(demangled("void k<2>(int)") == "void k<2>(int)");
  CHECK(without_version("cudaLaunchKernel_v7000") == "cudaLaunchKernel");
  CHECK(without_version("cudaMemcpyAsync_ptsz") == "cudaMemcpyAsync");
  CHECK(without_version("cudaLaunchKernelExC_v11060_ptsz") == "cudaLaunchKernelExC");
  CHECK(without_version("cuMemcpyHtoD_v2") == "cuMemcpyHtoD_v2");
  CHECK(without_version("_v7000") == "_v7000");
  CHECK(is_profiler_overhead("Activity Buffer Request"));
  CHECK_FALSE(is_profiler_overhead("Command Buffer Full"));
}

TEST_CASE("steps are recognised by their names", "[trace]") {
  for (const char* name : {"ProfilerStep#12", "step 3", "Step_3", "iteration_10", "iter:4",
                           "train_step[4]", "training step 7", "STEP=1"}) {
    CAPTURE(name);
    CHECK(is_step_name(name));
  }
  for (const char* name : {"step", "steps 3", "stepwise 3", "step 3 forward",
                           "Optimizer.step#AdamW", "", "3", "aten::step3d"}) {
    CAPTURE(name);
    CHECK_FALSE(is_step_name(name));
  }
}

}  // namespace nsa::trace
