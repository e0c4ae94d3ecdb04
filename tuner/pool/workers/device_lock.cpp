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
#include <fstream>
#include <sstream>
#include <thread>

#include "nsa/schemas/error.hpp"
#include "process/worker_client.hpp"

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

/// The process that has a flock of the file with this inode: a line of /proc/locks like
/// "3: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF". Devices are not compared: those of layered
/// file systems differ from what stat says.
std::optional<long> holder_of(ino_t inode) {
  std::ifstream locks("/proc/locks");
  const std::string tail = ":" + std::to_string(inode);
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, file;
    long pid = 0;
    words >> number >> kind >> mode >> access >> pid >> file;
    if (kind == "FLOCK" && file.ends_with(tail) && pid > 0) return pid;
  }
  return std::nullopt;
}

std::string command_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string command{std::istreambuf_iterator<char>(file), {}};
  while (command.ends_with('\0')) command.pop_back();
  for (char& c : command) {
    if (c == '\0') c = ' ';
  }
  constexpr std::size_t kMost = 120;
  if (command.size() > kMost) command = command.substr(0, kMost) + "...";
  return one_line(std::move(command));
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
  const std::optional<long> pid = holder_of(status.st_ino);
  if (!pid) return std::nullopt;
  return LockHolder{*pid, command_of(*pid)};
}

std::string waiting_text(const DeviceLock& lock, const std::string& device_id) {
  const std::optional<LockHolder> holder = lock.holder();
  std::string who = "another process";
  if (holder) who = fmt::format("process {}", holder->pid);
  if (holder && !holder->command.empty()) who += " (" + holder->command + ")";
  return fmt::format("waiting: {} measures on {}; --share does not wait", who, device_id);
}

}  // namespace nsa::tuner
