#include "nsa/probes/links.hpp"

#include "catch.hpp"

using namespace nsa;
using namespace nsa::probes;

TEST_CASE("rates of PCIe are those of its generations, and no others are guessed", "[probes]") {
  CHECK(*pcie_gb_per_s(3, 16) == Approx(15.75).margin(0.01));
  CHECK(*pcie_gb_per_s(4, 16) == Approx(31.51).margin(0.01));
  CHECK(*pcie_gb_per_s(5, 16) == Approx(63.02).margin(0.01));
  CHECK(*pcie_gb_per_s(1, 1) == Approx(0.25));
  CHECK_FALSE(pcie_gb_per_s(7, 16));
  CHECK_FALSE(pcie_gb_per_s(0, 16));
  CHECK_FALSE(pcie_gb_per_s(5, 0));
}

TEST_CASE("a GPU that NVML does not know has links that are absent, a CPU has none", "[probes]") {
  Device cpu, gpu;
  gpu.id = "cuda:0";
  gpu.backend = Backend::cuda;
  gpu.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  CHECK(device_links(std::vector<Device>{cpu}).empty());
  const auto links = device_links(std::vector<Device>{cpu, gpu});
  REQUIRE(links.size() == 1);
  CHECK(links[0].device == "cuda:0");
  CHECK_FALSE(links[0].pcie_generation);
  CHECK_FALSE(links[0].nvlinks);
  CHECK_FALSE(links[0].numa_node);
}
