#include "cpu/device.hpp"

#include "catch.hpp"
#include "cuda/device.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::probes;

TEST_CASE("the first device is the CPU with its cores, name and memory", "[probes]") {
  const std::vector<Device> all = devices();
  REQUIRE_FALSE(all.empty());
  const Device& cpu = all.front();
  CHECK(cpu.id == "cpu");
  CHECK(cpu.backend == Backend::cpu);
  CHECK(cpu.multiprocessors.value() >= 1);
  CHECK(cpu.name.ends_with(" x " + std::to_string(cpu.multiprocessors.value())));
  CHECK(cpu.memory_bytes.value() > cpu.memory_free_bytes.value());
  CHECK(cpu.driver.empty());
  CHECK_FALSE(cpu.compute_capability);
}

TEST_CASE("a CPU keeps its uuid from one reading to the next", "[probes]") {
  CHECK(cpu_device().uuid == cpu_device().uuid);
  CHECK(cpu_device().uuid.size() == std::string("CPU-").size() + 16);
}

TEST_CASE("a cpuinfo value is that of the whole key, first line first", "[probes]") {
  const std::string text = "model\t\t: 167\nmodel name\t: Some CPU  @ 2 GHz\nmodel name\t: other\n";
  CHECK(cpuinfo_value(text, "model name") == "Some CPU  @ 2 GHz");
  CHECK(cpuinfo_value(text, "model") == "167");
  CHECK(cpuinfo_value(text, "flags").empty());
}

TEST_CASE("the widest instruction set is found by whole words", "[probes]") {
  CHECK(widest_isa("fpu avx avx2 avx512f") == "avx512f");
  CHECK(widest_isa("fpu avx avx2 avx512fp16") == "avx2");
  CHECK(widest_isa("fpu sse4_2 avxfoo") == "sse4_2");
  CHECK(widest_isa("fp asimd evtstrm") == "asimd");
  CHECK(widest_isa("fpu").empty());
}

TEST_CASE("a cache size has a unit, and anything else is no size", "[probes]") {
  CHECK(parse_cache_size("48K") == 48 * 1024);
  CHECK(parse_cache_size("480M") == 480LL * 1024 * 1024);
  CHECK(parse_cache_size("64") == 64);
  CHECK_FALSE(parse_cache_size(""));
  CHECK_FALSE(parse_cache_size("12X"));
  CHECK_FALSE(parse_cache_size("-3K"));
}

TEST_CASE("a device that is not here is refused with those that are", "[probes]") {
  CHECK(require_device("cpu").id == "cpu");
  try {
    require_device("cuda:4096");
    FAIL("cuda:4096 was accepted");
  } catch (const EnvironmentError& error) {
    CHECK(std::string(error.what()).find("usable: cpu") != std::string::npos);
  }
  const CudaDevices cuda = cuda_devices();
  if (cuda.devices.empty()) CHECK_FALSE(cuda.reason.empty());
}

TEST_CASE("an ordinal is read from a whole id only", "[probes]") {
  CHECK(cuda_ordinal("cuda:0") == 0);
  CHECK(cuda_ordinal("cuda:12") == 12);
  CHECK(cuda_ordinal("cuda:") == -1);
  CHECK(cuda_ordinal("cuda:1x") == -1);
  CHECK(cuda_ordinal("cpu") == -1);
}
