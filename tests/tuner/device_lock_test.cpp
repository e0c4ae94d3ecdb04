#include "pool/workers/device_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa::tuner;

namespace {

const std::string kFolder = std::filesystem::temp_directory_path();

/// What is said about a lock that cannot be opened.
std::string refusal(const std::string& folder, const std::string& uuid) {
  try {
    const DeviceLock lock(folder, uuid);
  } catch (const nsa::EnvironmentError& error) {
    return error.what();
  }
  return "opened";
}

bool has_hint(const std::string& message) {
  return message.find("or name a folder of your own in NSATUNE_LOCK_DIR") != std::string::npos;
}

/// The lock of a device that no other test has; its file is removed at the end.
struct OwnName {
  explicit OwnName(const std::string& name, const std::string& end = "")
      : uuid(name + "-" + std::to_string(getpid()) + end),
        path(kFolder + "/nsatune-" + uuid + ".lock") {}
  ~OwnName() { unlink(path.c_str()); }
  const std::string uuid, path;
};

}  // namespace

TEST_CASE("only one holder has the lock of a device, and another device is free", "[tuner]") {
  const OwnName name("lock-test"), beside("lock-test", "_.._b");
  DeviceLock first(kFolder, name.uuid), second(kFolder, name.uuid);
  DeviceLock other(kFolder, name.uuid + "/../b");
  CHECK(first.try_lock());
  CHECK_FALSE(second.try_lock());
  CHECK(other.try_lock());
  first.unlock();
  CHECK(second.try_lock());
}

TEST_CASE("waiting for a lock ends with the budget", "[tuner]") {
  const OwnName name("lock-wait");
  DeviceLock first(kFolder, name.uuid), second(kFolder, name.uuid);
  REQUIRE(first.try_lock());
  Interrupt interrupt(nullptr, 0.05);
  CHECK_FALSE(second.lock(interrupt));
}

TEST_CASE("what does not count moves the end of a budget", "[tuner]") {
  std::atomic<double> uncounted_s = 50;  // before it began
  Interrupt interrupt(nullptr, 100, &uncounted_s);
  CHECK(interrupt.left_s() < 100.01);
  uncounted_s = uncounted_s + 1000;
  CHECK(interrupt.left_s() > 900);
  CHECK_FALSE(interrupt.budget_spent());
  interrupt.leave_out(1000);
  CHECK(interrupt.left_s() > 1900);
  CHECK(uncounted_s == 2050);
  const Interrupt spent(nullptr, 1e-9, &uncounted_s);
  CHECK(spent.budget_spent());
}

TEST_CASE("a lock in a folder that is not there is an error of the environment", "[tuner]") {
  const std::string said = refusal("/nowhere/at/all", "x");
  CAPTURE(said);
  CHECK(said.find("the folder for the lock of the device does not exist") != std::string::npos);
  CHECK(said.find("NSATUNE_LOCK_DIR") != std::string::npos);
}

TEST_CASE("what another user planted in place of a lock is refused at once, with a way out",
          "[tuner]") {
  const OwnName lock("lock-planted");
  const std::string target = lock.path + ".target";
  REQUIRE(mkfifo(lock.path.c_str(), 0644) == 0);
  // A pipe is opened for reading at once where somebody writes; without a writer that would wait.
  CHECK(has_hint(refusal(kFolder, lock.uuid)));
  unlink(lock.path.c_str());
  REQUIRE(symlink(target.c_str(), lock.path.c_str()) == 0);
  const std::string said = refusal(kFolder, lock.uuid);
  CHECK(said.find("it is a symbolic link") != std::string::npos);
  CHECK(has_hint(said));
  CHECK_FALSE(std::filesystem::exists(target));
}

TEST_CASE("a lock that another user keeps unreadable is refused with a way out", "[tuner]") {
  const OwnName lock("lock-unreadable");
  close(open(lock.path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0000));
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;  // who may read everything
  if (is_root) REQUIRE(seteuid(kNobody) == 0);
  const std::string said = refusal(kFolder, lock.uuid);
  if (is_root) REQUIRE(seteuid(0) == 0);
  CAPTURE(said);
  CHECK(said.find("Permission denied") != std::string::npos);
  CHECK(has_hint(said));
}

TEST_CASE("a lock can be read by every user, whatever the umask", "[tuner]") {
  const OwnName name("lock-umask");
  const mode_t before = umask(0077);
  const DeviceLock lock(kFolder, name.uuid);
  umask(before);
  struct stat status {};
  REQUIRE(stat(name.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}
