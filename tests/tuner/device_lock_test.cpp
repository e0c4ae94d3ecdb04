#include "pool/workers/device_lock.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa::tuner;

namespace {
const std::string kFolder = std::filesystem::temp_directory_path();
}

TEST_CASE("only one holder has the lock of a device, and another device is free", "[tuner]") {
  const std::string uuid = "lock-test-" + std::to_string(getpid());
  DeviceLock first(kFolder, uuid), second(kFolder, uuid), other(kFolder, uuid + "/../b");
  CHECK(first.try_lock());
  CHECK_FALSE(second.try_lock());
  CHECK(other.try_lock());
  first.unlock();
  CHECK(second.try_lock());
}

TEST_CASE("waiting for a lock ends with the budget", "[tuner]") {
  const std::string uuid = "lock-wait-" + std::to_string(getpid());
  DeviceLock first(kFolder, uuid), second(kFolder, uuid);
  REQUIRE(first.try_lock());
  Interrupt interrupt(nullptr, 0.05);
  CHECK_FALSE(second.lock(interrupt));
}

TEST_CASE("a lock in a folder that is not there is an error of the environment", "[tuner]") {
  CHECK_THROWS_AS(DeviceLock("/nowhere/at/all", "x"), nsa::EnvironmentError);
}
