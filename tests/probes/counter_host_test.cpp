// The names that we ask for are asked of CUPTI itself, which knows all chips without a GPU.
#include "cupti/counters/host.hpp"

#include <algorithm>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::probes::cupti;

TEST_CASE("CUPTI schedules all of our metrics of an A100, an H100 and a B200", "[probes]") {
  const ProfilerApi& api = shared_profiler_api();
  if (!api.missing().empty()) {
    WARN("skipped: " << api.missing());
    return;
  }
  for (const char* chip : {"GA100", "GH100", "GB100"}) {
    INFO(chip);
    const CounterHost host(api, chip);
    CHECK(host.metrics().size() == 8);
    CHECK_FALSE(host.config().empty());
  }
  // DRAM's bytes have other names on a GB202; an Orin's DRAM is the CPU's, and not counted.
  const auto has = [](const CounterHost& host, const std::string& name) {
    const auto& metrics = host.metrics();
    return std::find(metrics.begin(), metrics.end(), name) != metrics.end();
  };
  CHECK(has(CounterHost(api, "GB202"), "dram__bytes_op_read.sum"));
  CHECK(CounterHost(api, "GA10B").metrics().size() == 5);
  CHECK_THROWS_AS(CounterHost(api, "XX999"), EnvironmentError);
}
