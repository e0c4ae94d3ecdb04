// A window over JSON text that is too large to hold: top-level values one at a time, and of the
// long array as many whole elements as the window holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "read/byte_source.hpp"

namespace nsa::trace {

class JsonWindow {
 public:
  /// `padding` bytes after every text that is handed out may be read (their values do not matter).
  JsonWindow(ByteSource& source, std::string where, std::size_t padding, std::size_t capacity);

  /// The next byte that is no blank, not consumed; '\0' at the end of the text.
  char peek();
  /// Some editors begin UTF-8 with one.
  void skip_byte_order_mark();
  /// Whether nothing but blanks is left.
  bool at_end();
  /// Consumes the next byte that is no blank; InputError when it is another than `wanted`.
  void expect(char wanted);
  /// A string, for instance a key: its text without the quotes, escapes as they are. Valid until
  /// the next call.
  std::string_view string();
  /// One whole value: its text. Valid until the next call.
  std::string_view value();
  /// After '[': the next elements as an array "[...]"; empty when the array has ended (and its ']'
  /// is consumed). Looking at every byte for its end would cost a quarter of the reading, so it
  /// ends where the last object seems to. Where that is not between two elements the text is no
  /// JSON, and elements_again() has the next whole ones exactly. Valid until the next call.
  std::string_view elements();
  std::string_view elements_again();

  /// Offset in the text of a byte of what was handed out last, or of the cursor.
  std::uint64_t offset_of(const char* at) const;
  std::uint64_t offset() const { return offset_ + begin_; }
  double share_read() const { return source_.share_read(); }
  /// InputError "<where>: byte <offset>: <what>".
  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const;

 private:
  struct Scan {
    std::size_t end = 0;  // past the last whole element or value
    bool whole = false;   // there is one
    bool closed = false;  // the bracket around the elements was met at `end`
  };
  bool refill();  // more text after; false at its end
  Scan scan(bool many) const;
  void skip_blanks();
  bool at_element();
  std::string_view whole_elements();
  std::string_view hand_out(std::size_t end);
  [[noreturn]] void fail_cut() const;

  ByteSource& source_;
  std::string where_;
  std::size_t padding_;
  std::vector<char> buffer_;         // byte 0 is room for a '['
  std::size_t begin_ = 1, end_ = 1;  // text that is not consumed yet
  std::uint64_t offset_ = 0;         // of buffer_[0] in the text, wraps below 0 at first
  char behind_ = '\0';               // what stood where hand_out() put its ']'
  std::size_t handed_out_ = 1;       // where that text began
  bool in_array_ = false;
};

}  // namespace nsa::trace
