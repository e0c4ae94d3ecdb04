#include "file_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nsa/schemas/error.hpp"

namespace nsa::store {
namespace {

[[noreturn]] void fail(const std::string& path, const char* call) {
  throw EnvironmentError(
      fmt::format("{}: {} failed: {}; the folder must be writable and its file system must have "
                  "locks, or use --db FILE",
                  path, call, std::strerror(errno)));
}

/// True when the byte is ours, false when another holder has it.
bool try_lock(int fd, std::uint64_t byte, const std::string& path, short type = F_WRLCK) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(byte);
  range.l_len = 1;
  if (fcntl(fd, F_OFD_SETLK, &range) == 0) return true;
  if (errno != EAGAIN && errno != EACCES && errno != EINTR) fail(path, "locking it");
  return false;
}

}  // namespace

std::optional<FileLock> FileLock::acquire(const std::string& database_path, std::uint64_t byte,
                                          double timeout_s,
                                          const std::function<bool(double)>& keep_waiting) {
  const std::string path = database_path + "-lock";
  // In a shared folder anybody may have put a link or a pipe there.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0 && errno == ELOOP)
    throw EnvironmentError(path + ": is a symbolic link, where a lock file belongs; remove it");
  if (fd < 0) fail(path, "opening it");
  FileLock lock(fd);
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw EnvironmentError(path + ": is not a regular file, where a lock file belongs; remove it");
  const auto start = std::chrono::steady_clock::now();
  while (!try_lock(fd, byte, path)) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() >= timeout_s) return std::nullopt;
    if (keep_waiting && !keep_waiting(waited.count())) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool FileLock::share(std::uint64_t byte) { return try_lock(fd_, byte, "its lock file", F_RDLCK); }

int FileLock::release() noexcept { return std::exchange(fd_, -1); }

std::uint64_t owner_byte(const std::string& run_id) noexcept {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, 64 bit
  for (const char c : run_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return 1 + (hash >> 2);  // positive as an off_t, and never kOpeningByte
}

}  // namespace nsa::store
