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

TEST_CASE("what another user planted in place of a lock is refused at once", "[tuner]") {
  const std::string uuid = "lock-planted-" + std::to_string(getpid());
  const std::string path = kFolder + "/nsatune-" + uuid + ".lock", target = path + ".target";
  REQUIRE(mkfifo(path.c_str(), 0644) == 0);
  // A pipe is opened for reading at once where somebody writes; without a writer that would wait.
  CHECK_THROWS_AS(DeviceLock(kFolder, uuid), nsa::EnvironmentError);
  unlink(path.c_str());
  REQUIRE(symlink(target.c_str(), path.c_str()) == 0);
  CHECK_THROWS_AS(DeviceLock(kFolder, uuid), nsa::EnvironmentError);
  CHECK_FALSE(std::filesystem::exists(target));
  unlink(path.c_str());
}

TEST_CASE("a lock can be read by every user, whatever the umask", "[tuner]") {
  const std::string uuid = "lock-umask-" + std::to_string(getpid());
  const mode_t before = umask(0077);
  const DeviceLock lock(kFolder, uuid);
  umask(before);
  struct stat status {};
  REQUIRE(stat((kFolder + "/nsatune-" + uuid + ".lock").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}
