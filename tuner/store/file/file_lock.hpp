// Advisory locks on bytes of one small file beside the database ("results.sqlite-lock").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace nsa::store {

/// Holds a byte range of the lock file until it is destroyed or the process ends, however it ends.
/// Open-file-description locks: they also exclude a second holder in the same process.
class FileLock {
 public:
  /// Waits up to `timeout_s`, or until `keep_waiting`, which gets the seconds so far, says no;
  /// nothing when somebody else still holds the byte then. EnvironmentError when the lock file
  /// cannot be made or locked.
  static std::optional<FileLock> acquire(const std::string& database_path, std::uint64_t byte,
                                         double timeout_s,
                                         const std::function<bool(double)>& keep_waiting = {});
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  /// Takes another byte of the file beside other holders that share it, for as long as this lock
  /// lasts. False when somebody has it alone.
  bool share(std::uint64_t byte);
  /// Gives up ownership of the descriptor, which carries the lock.
  int release() noexcept;

 private:
  explicit FileLock(int fd) noexcept : fd_(fd) {}
  int fd_;
};

/// The byte that is held while a database is created, converted or migrated.
inline constexpr std::uint64_t kOpeningByte = 0;
/// The byte that owners of runs share, and that is held alone by who must not meet a sweep.
inline constexpr std::uint64_t kSweepByte = (std::uint64_t{1} << 62) + 1;  // no owner's
/// The byte that the owner of a run holds.
std::uint64_t owner_byte(const std::string& run_id) noexcept;

}  // namespace nsa::store
