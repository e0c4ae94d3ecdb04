// Devices that are not there, and drivers that do not fit: one line, exit 4.
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

TEST_CASE("a device that is not there is exit 4, with those that are", "[cli]") {
  const Folder folder;
  for (const char* command : {"run --preset tiny ", "sweep quick ", "variants "}) {
    const Result r = nsatune(folder, std::string(command) + "--device cuda:97");
    INFO(command << r.err);
    CHECK(r.exit_code == 4);
    CHECK(r.err.find("cuda:97 is not here; usable: cpu") != std::string::npos);
  }
}

TEST_CASE("a driver that is too old is named with both versions", "[cli]") {
  if (!NSATUNE_HAVE_CUDA) return;  // a program without CUDA never asks the driver
  const Folder folder;
  const std::string old_driver = std::string("LD_LIBRARY_PATH=") + NSATUNE_OLD_DRIVER;
  const Result r = nsatune(folder, "run --device cuda:0", old_driver);
  INFO(r.err);
  CHECK(r.exit_code == 4);
  CHECK(r.err.find("the NVIDIA driver is too old: it supports CUDA 11.4") != std::string::npos);
  const Result devices = nsatune(folder, "devices", old_driver);
  CHECK(devices.exit_code == 0);
  CHECK(devices.out.find("too old") != std::string::npos);
}

}  // namespace nsa::test
