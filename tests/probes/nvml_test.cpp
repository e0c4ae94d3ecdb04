#include "cuda/nvml.hpp"

#include "catch.hpp"

using namespace nsa::probes;

TEST_CASE("throttle reasons are named, idle is none, unknown bits are not lost", "[probes]") {
  CHECK(throttle_text(0).empty());
  CHECK(throttle_text(0x1).empty());
  CHECK(throttle_text(0x4) == "sw_power_cap");
  CHECK(throttle_text(0x48) == "hw_slowdown,hw_thermal");
  CHECK(throttle_text(0x10000) == "other");
}

TEST_CASE("a machine without NVML gives a reason and absent readings, never zeros", "[probes]") {
  const Nvml nvml;
  const NvmlFacts facts = nvml.facts("GPU-00000000-0000-0000-0000-000000000000");
  CHECK_FALSE(facts.power_limit_w);
  CHECK_FALSE(facts.memory_free_bytes);
  CHECK_FALSE(nvml.clocks("GPU-00000000-0000-0000-0000-000000000000").sm_mhz);
  CHECK(nvml.usable() == nvml.reason().empty());
}
