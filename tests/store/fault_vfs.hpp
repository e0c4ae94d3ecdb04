// A file system layer of SQLite that fails at one of its calls, and counts them.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace nsa::test {

/// fail: the call does nothing and is an I/O error. tear: a write puts half of its bytes down
/// first; other calls fail. full: the disk is full for every write from that call on, until heal().
enum class Fault : std::uint8_t { fail, tear, full };

/// Registered under `name` while it lives; passes everything else to the default layer.
class FaultVfs {
 public:
  explicit FaultVfs(const char* name);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  /// The call with that number (0 is the next one) meets the fault.
  void arm(Fault fault, std::int64_t call) noexcept;
  /// Nothing fails any more.
  void heal() noexcept;
  std::int64_t calls() const noexcept;
  /// Whether the fault has been met since arm().
  bool met() const noexcept;

  struct State;

 private:
  State* state_;
};

}  // namespace nsa::test
