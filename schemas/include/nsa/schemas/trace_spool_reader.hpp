// Records of a spool, one after the other, checked. A cursor belongs to one thread at a time;
// several may read the same bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "nsa/schemas/trace_spool.hpp"

namespace nsa::spool {

/// Walks over a spool in memory. What is wrong with it is an InputError "<where>: byte <offset>:
/// <what>", but a piece of a record at the end is what a kill leaves: it is skipped and counted.
class SpoolCursor {
 public:
  /// InputError when it is no spool, or one of another version or byte order.
  SpoolCursor(std::string_view bytes, std::string where);

  /// What the spool begins with.
  const SpoolHeader& header() const noexcept { return header_; }
  /// Moves to the next record; false at the end.
  bool next();
  /// The head of the record at which it stands, after next().
  const SpoolRecord& record() const noexcept { return record_; }
  /// The kind of that record.
  Kind kind() const noexcept { return record_.kind; }
  /// The record as its struct; InputError when it is too short for that.
  template <class Record>
  Record get() const {
    if (record_.bytes < sizeof(Record)) fail("a record that is too short for its kind");
    Record out;
    std::memcpy(&out, bytes_.data() + at_, sizeof out);
    return out;
  }
  /// The bytes of a text record.
  std::string_view text(const SpoolText& text) const;
  /// Bytes past the last whole record: torn off, or reserved and never written.
  std::uint64_t torn_bytes() const noexcept { return torn_; }
  /// InputError at the record.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  bool end_torn() noexcept;

  std::string_view bytes_;
  std::string where_;
  SpoolHeader header_;
  SpoolRecord record_;
  std::size_t at_ = 0, next_ = 0;
  std::uint64_t torn_ = 0;
};

/// Whether a file that begins so is a spool.
bool is_spool(std::string_view bytes) noexcept;

}  // namespace nsa::spool
