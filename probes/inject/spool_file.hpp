// The spool of this process: records are appended to a file as they come. Whole records per write,
// so that a kill leaves at most one torn at the end.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nsa/schemas/trace_spool.hpp"

namespace nsa::inject {

/// Thread-safe. The file is locked (flock) as long as it is open. Its descriptor lies high and is
/// compared with the file before each write: a program that closes all descriptors may get the same
/// number for a file of its own. Then the spool is opened again, or, where it is gone, recording
/// ends with a line on stderr. After a failed write (disk full) it goes on, and counts what is
/// lost.
class SpoolFile {
 public:
  /// Makes "<host>.<pid>.nsaspool" in the folder, or with a number where that is there already.
  /// False, and `reason`, when it cannot be made.
  bool open(const std::string& folder, const spool::SpoolHeader& header);
  ~SpoolFile();
  SpoolFile() = default;
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  const std::string& reason() const noexcept { return reason_; }
  std::uint32_t text(std::string_view text);
  void append(const void* record, std::uint32_t bytes);
  template <class Record>
  void append(const Record& record) {
    append(&record, sizeof record);
  }
  void metadata(std::string_view key, std::string_view value);
  void note(spool::NoteWhat what, std::string_view text);
  /// Writes what is there.
  void flush();
  /// Device number -> uuid of those seen.
  std::map<std::int32_t, std::string> devices() const;
  /// The text of a number.
  std::string text_of(std::uint32_t number) const;
  std::uint64_t lost() const noexcept { return lost_.load(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  void flush_locked();
  bool is_own() const;
  void open_again();
  void see_device(const void* record);

  mutable std::mutex mutex_;
  int file_ = -1;
  dev_t device_ = 0;  // of the file, with the inode
  ino_t inode_ = 0;
  std::string path_, reason_;
  std::vector<char> buffer_;
  std::uint64_t buffered_ = 0;  // records
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> texts_;
  std::vector<const std::string*> by_number_{nullptr};
  std::map<std::int32_t, std::string> devices_;
  std::atomic<std::uint64_t> lost_{0};
};

std::int64_t monotonic_now_ns();
std::int64_t realtime_now_ns();

}  // namespace nsa::inject
