// Text on its way into a file: numbers and pieces are appended without an allocation.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "output_file.hpp"

namespace nsa::trace {

class TextBuffer {
 public:
  explicit TextBuffer(OutputFile& file) : file_(file), buffer_(kBytes) {}

  TextBuffer& operator<<(std::string_view text) {
    if (kBytes - size_ < text.size()) return append_long(text);
    std::memcpy(buffer_.data() + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  template <class Integer>
  requires std::is_integral_v<Integer> TextBuffer& operator<<(Integer value) {
    if (kBytes - size_ < kNumberBytes) flush();
    char* const at = buffer_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kNumberBytes, value).ptr - at);
    return *this;
  }
  /// Nanoseconds as microseconds with exactly three decimals.
  TextBuffer& microseconds(std::int64_t ns) {
    const auto size = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
    if (ns < 0) *this << "-";
    *this << size / 1000;
    const auto rest = static_cast<unsigned>(size % 1000);
    const char decimals[4] = {'.', static_cast<char>('0' + rest / 100),
                              static_cast<char>('0' + rest / 10 % 10),
                              static_cast<char>('0' + rest % 10)};
    return *this << std::string_view(decimals, 4);
  }
  /// The shortest text that reads back as the same number; it has to be finite.
  TextBuffer& number(double value) {
    char text[kNumberBytes];
    const auto end = std::to_chars(text, text + kNumberBytes, value).ptr;
    return *this << std::string_view(text, static_cast<std::size_t>(end - text));
  }
  void flush() {
    if (size_ != 0) file_.write({buffer_.data(), size_});
    size_ = 0;
  }

 private:
  static constexpr std::size_t kBytes = 1 << 18, kNumberBytes = 40;

  TextBuffer& append_long(std::string_view text) {
    flush();
    if (text.size() > kBytes) {
      file_.write(text);
    } else {
      std::memcpy(buffer_.data(), text.data(), size_ = text.size());
    }
    return *this;
  }

  OutputFile& file_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
};

/// With quotes, all control characters escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace nsa::trace
