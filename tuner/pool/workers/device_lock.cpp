#include "pool/workers/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

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

}  // namespace

DeviceLock::DeviceLock(const std::string& folder, const std::string& device_uuid) {
  const std::string path = lock_folder(folder) + "/" + file_name(device_uuid);
  // Everybody may lock it, also where another user made it: flock needs no right to write.
  file_ = Fd(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file_.get() < 0)
    throw EnvironmentError(
        fmt::format("{}: cannot open the lock of the device: {}", path, strerror(errno)));
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
