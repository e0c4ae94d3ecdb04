// Which metrics are read of which chip, and what they say of a launch.
#include "cupti/counters/metrics.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "catch.hpp"
#include "nsa/probes/launch_counters.hpp"
#include "nsa/schemas/error.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::probes;
using test::contains;

namespace {

/// As an H200 counted a copy of 256 MiB: three tenths of the range were the host's, which launched.
std::vector<CounterMetric> of_a_copy() {
  return {{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 58.6},
          {"lts__t_sectors.avg.pct_of_peak_sustained_elapsed", 29.3},
          {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 0},
          {"dram__bytes_read.sum", 268.45e6},
          {"dram__bytes_write.sum", 244.45e6},
          {"gpu__time_duration.sum", 181'760},
          {"sm__cycles_active.max", 257'815},
          {"sm__cycles_elapsed.max", 359'522}};
}

}  // namespace

TEST_CASE("shares are of the time in which there was work, not of the range around it",
          "[probes]") {
  const LaunchCounters c = cupti::counters_of("GH100", of_a_copy());
  CHECK(c.chip == "GH100");
  CHECK(c.busy_ns.value() == Approx(130'341).epsilon(1e-4));
  CHECK(c.dram_share.value() == Approx(0.8172).epsilon(1e-3));
  CHECK(c.l2_share.value() == Approx(0.4086).epsilon(1e-3));
  CHECK(c.tensor_share.value() == 0);
  CHECK(c.dram_read_bytes == 268'450'000);
  CHECK(c.dram_write_bytes == 244'450'000);
  CHECK(c.metrics == of_a_copy());
  CHECK(c.note.empty());
}

TEST_CASE("what was not counted is absent and named, and never zero", "[probes]") {
  auto metrics = of_a_copy();
  metrics.erase(metrics.begin());                               // no DRAM share
  metrics[2].value = std::numeric_limits<double>::quiet_NaN();  // no bytes read
  const LaunchCounters c = cupti::counters_of("GB10B", metrics);
  CHECK_FALSE(c.dram_share);
  CHECK_FALSE(c.dram_read_bytes);
  CHECK(c.dram_write_bytes);
  CHECK(c.l2_share);
  CHECK(c.metrics.size() == metrics.size() - 1);
  CHECK(c.note == "not counted: DRAM's share of its peak, bytes read from DRAM");
  auto idle = of_a_copy();
  idle[6].value = 0;
  const LaunchCounters nothing = cupti::counters_of("GH100", idle);
  CHECK_FALSE(nothing.dram_share);
  CHECK(nothing.busy_ns == 0.0);
  CHECK(nothing.note == "no multiprocessor had work");
}

TEST_CASE("each quantity is read by the first of its names that the chip has", "[probes]") {
  const std::set<std::string> blackwell{"lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
                                        "dram__bytes_op_read.sum", "dram__bytes_op_write.sum"};
  const auto chosen =
      cupti::choose_metrics([&](const std::string& name) { return blackwell.contains(name); });
  CHECK(std::set<std::string>(chosen.begin(), chosen.end()) == blackwell);
  CHECK(cupti::choose_metrics([](const std::string&) { return false; }).empty());
  const auto all = cupti::choose_metrics([](const std::string&) { return true; });
  CHECK(std::count(all.begin(), all.end(), "dram__bytes_read.sum") == 1);
  CHECK(std::count(all.begin(), all.end(), "dram__bytes_op_read.sum") == 0);
  CHECK(all.size() == of_a_copy().size());
}

TEST_CASE("a refusal is one line with what to do", "[probes]") {
  const std::string line =
      cupti::counter_refusal(35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", "cuptiCall");
  for (const char* part : {"--cap-add SYS_ADMIN", "NVreg_RestrictProfilingToAdminUsers=0",
                           "cuptiCall: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"})
    CHECK(contains(line, part));
  CHECK_FALSE(contains(line, "\n"));
  CHECK(contains(cupti::counter_refusal(26, "x", "y"), "dcgmi profpause"));
  CHECK(contains(cupti::counter_refusal(15, "x", "y"), "libnvperf_host.so"));
  CHECK(cupti::counter_refusal(999, "CUPTI_ERROR_UNKNOWN (999)", "cuptiCall") ==
        "hardware counters: cuptiCall: CUPTI_ERROR_UNKNOWN (999)");
}

TEST_CASE("a device that is no GPU has no counters", "[probes]") {
  CHECK_THROWS_AS(CounterSession(Device{}, nullptr), InputError);
}
