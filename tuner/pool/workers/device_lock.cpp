#include "pool/workers/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

std::string lock_folder(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code error;
  if (runtime && std::filesystem::is_directory(runtime, error)) return runtime;
  return std::filesystem::temp_directory_path();
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
  if (file_.get() < 0)
    throw EnvironmentError(
        fmt::format("{}: cannot open the lock of the device: {}", path, strerror(errno)));
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw EnvironmentError(path +
                           ": the lock of the device is no regular file; remove it, or name a "
                           "folder of your own in XDG_RUNTIME_DIR");
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

}  // namespace nsa::tuner
