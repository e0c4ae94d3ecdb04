#include "text_buffer.hpp"

#include <array>
#include <cstdint>

namespace nsa::trace {
namespace {

/// Length of the code point at the front; 0 when it is no UTF-8 (overlong, a surrogate, cut off).
std::size_t valid_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

void append_escape(std::string& out, unsigned char c) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    (out += '\\') += static_cast<char>(c);
  } else {
    ((out += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
  }
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t taken = 1;
    if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
      append_escape(out, c);
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (const std::size_t length = valid_length(text); length != 0) {
      out += text.substr(0, length);
      taken = length;
    } else {
      out += "\xef\xbf\xbd";
    }
    text.remove_prefix(taken);
  }
  return out += '"';
}

}  // namespace nsa::trace
