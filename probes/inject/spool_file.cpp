#include "inject/spool_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace nsa::inject {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
constexpr int kMostNames = 1000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The bytes that went out before an error.
std::size_t write_all(int file, const char* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::write(file, data + done, size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

/// The same file under a high number, out of the way of what programs open and close; or as it was.
int moved_up(int file) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return file;
  const rlim_t high = std::min<rlim_t>(limit.rlim_cur, 4096) - 24;
  const int moved = limit.rlim_cur < 64 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(high));
  if (moved < 0) return file;
  ::close(file);
  return moved;
}

}  // namespace

std::int64_t monotonic_now_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::int64_t realtime_now_ns() { return clock_ns(CLOCK_REALTIME); }

bool SpoolFile::open(const std::string& folder, const spool::SpoolHeader& header) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string stem = folder + "/" + host.data() + "." + std::to_string(header.process);
  for (int n = 0; n < kMostNames && file_ < 0; ++n) {
    path_ = stem + (n == 0 ? "" : "." + std::to_string(n)) + spool::kFileSuffix;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) {
    reason_ = path_ + ": " + std::strerror(errno);
    return false;
  }
  file_ = moved_up(file_);
  flock(file_, LOCK_SH | LOCK_NB);
  struct stat status {};
  fstat(file_, &status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  buffer_.reserve(2 * kWriteBytes);
  return write_all(file_, reinterpret_cast<const char*>(&header), sizeof header) == sizeof header;
}

SpoolFile::~SpoolFile() {
  if (is_own()) ::close(file_);
}

bool SpoolFile::is_own() const {
  struct stat status {};
  return file_ >= 0 && fstat(file_, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

/// What has the number now is the program's: it is left as it is.
void SpoolFile::open_again() {
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file_ >= 0 && is_own()) {
    file_ = moved_up(file_);
    flock(file_, LOCK_SH | LOCK_NB);
    return;
  }
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  reason_ = path_ + ": the program closed it, and it is gone";
  const std::string line = "nsatune: " + reason_ + "; nothing more is recorded\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::uint32_t SpoolFile::text(std::string_view text) {
  if (text.empty()) return 0;
  const std::lock_guard lock(mutex_);
  const auto found = texts_.find(text);
  if (found != texts_.end()) return found->second;
  text = text.substr(0, spool::kMaxRecordBytes / 2);
  const auto number = static_cast<std::uint32_t>(by_number_.size());
  const auto added = texts_.emplace(text, number).first;
  by_number_.push_back(&added->first);
  const std::size_t at = buffer_.size();
  buffer_.resize(at + spool::text_bytes(text.size()));
  spool::put_text(buffer_.data() + at, number, text.data(),
                  static_cast<std::uint32_t>(text.size()));
  return number;
}

void SpoolFile::see_device(const void* record) {
  spool::SpoolDevice device;
  std::memcpy(&device, record, sizeof device);
  if (device.uuid != 0) devices_[device.id] = *by_number_[device.uuid];
}

void SpoolFile::append(const void* record, std::uint32_t bytes) {
  const std::lock_guard lock(mutex_);
  spool::SpoolRecord head;
  std::memcpy(&head, record, sizeof head);
  if (head.kind == spool::Kind::device) see_device(record);
  const auto* data = static_cast<const char*>(record);
  buffer_.insert(buffer_.end(), data, data + bytes);
  ++buffered_;
  if (buffer_.size() >= kWriteBytes) flush_locked();
}

void SpoolFile::metadata(std::string_view key, std::string_view value) {
  spool::SpoolMetadata m;
  m.key = text(key);
  m.value = text(value);
  append(m);
}

void SpoolFile::note(spool::NoteWhat what, std::string_view words) {
  spool::SpoolNote n;
  n.at_ns = monotonic_now_ns();
  n.what = what;
  n.text = text(words);
  append(n);
}

void SpoolFile::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void SpoolFile::flush_locked() {
  if (buffer_.empty()) return;
  if (file_ >= 0 && !is_own()) open_again();
  const std::size_t written = file_ < 0 ? 0 : write_all(file_, buffer_.data(), buffer_.size());
  if (written != buffer_.size()) {
    // A torn record would end the file for its reader: back to the whole ones before it.
    if (written > 0 && file_ >= 0) {
      const off_t end = ::lseek(file_, 0, SEEK_END);
      if (end < 0 || ::ftruncate(file_, end - static_cast<off_t>(written)) != 0) file_ = -1;
    }
    lost_ += buffered_;
  }
  buffer_.clear();
  buffered_ = 0;
}

std::map<std::int32_t, std::string> SpoolFile::devices() const {
  const std::lock_guard lock(mutex_);
  return devices_;
}

std::string SpoolFile::text_of(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number == 0 || number >= by_number_.size() ? std::string() : *by_number_[number];
}

}  // namespace nsa::inject
