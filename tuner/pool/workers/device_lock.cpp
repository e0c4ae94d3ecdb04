#include "pool/workers/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

std::string lock_folder(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* named = std::getenv("NSATUNE_LOCK_DIR");
  if (named && *named) return named;
  // Not $XDG_RUNTIME_DIR or $TMPDIR: each user has others, and their sweeps would not meet.
  constexpr const char* kForAll = "/run/lock";
  return access(kForAll, W_OK | X_OK) == 0 ? kForAll : "/tmp";
}

std::string file_name(const std::string& uuid) {
  std::string name = "nsatune-" + uuid + ".lock";
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  }
  return name;
}

/// Everybody may lock it, also where another user made it: flock needs no right to write, and in a
/// sticky folder the kernel refuses O_CREAT of a file that is another user's. What is no file (a
/// pipe would wait for its writer) is opened without waiting.
Fd open_lock(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(open(path.c_str(), kFlags));
  if (file.get() >= 0 || errno != ENOENT) return file;
  file = Fd(open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0644));
  if (file.get() >= 0) {
    fchmod(file.get(), 0644);  // also where the umask hides files from others
  } else if (errno == EEXIST) {
    file = Fd(open(path.c_str(), kFlags));  // another process was first
  }
  return file;
}

}  // namespace

DeviceLock::DeviceLock(const std::string& folder, const std::string& device_uuid) {
  const std::string path = lock_folder(folder) + "/" + file_name(device_uuid);
  file_ = open_lock(path);
  // Whatever another user left there must not stop everybody for good.
  constexpr const char* kHint = "remove it, or name a folder of your own in NSATUNE_LOCK_DIR";
  if (file_.get() < 0 && errno == ENOENT)
    throw EnvironmentError(
        path +
        ": the folder for the lock of the device does not exist; create it, or name another "
        "one in NSATUNE_LOCK_DIR");
  if (file_.get() < 0)
    throw EnvironmentError(fmt::format("{}: cannot open the lock of the device: {}; {}", path,
                                       errno == ELOOP ? "it is a symbolic link" : strerror(errno),
                                       kHint));
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw EnvironmentError(
        fmt::format("{}: the lock of the device is not a regular file; {}", path, kHint));
}

bool DeviceLock::try_lock() { return flock(file_.get(), LOCK_EX | LOCK_NB) == 0; }

bool DeviceLock::lock(const Interrupt& interrupt) {
  while (!try_lock()) {
    if (interrupt.requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void DeviceLock::unlock() { flock(file_.get(), LOCK_UN); }

std::optional<LockHolder> DeviceLock::holder() const {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) return std::nullopt;
  return find_lock_holder(status.st_ino, LockKind::flock);
}

std::string waiting_text(const DeviceLock& lock, const std::string& device_id) {
  return fmt::format("waiting: {} measures on {}; --share does not wait", describe(lock.holder()),
                     device_id);
}

}  // namespace nsa::tuner
