#include "nsa/schemas/text.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace nsa {
namespace {

bool is_control(std::uint32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

/// Changes the direction or the line, or is not seen at all (Unicode 15, Bidi_Control and
/// Default_Ignorable_Code_Point where texts in use have them).
bool is_unseen(std::uint32_t c) {
  const auto in = [c](std::uint32_t first, std::uint32_t last) { return c >= first && c <= last; };
  return c == 0xad || c == 0x61c || c == 0x180e || in(0x200b, 0x200f) || in(0x2028, 0x202e) ||
         in(0x2060, 0x206f) || c == 0xfeff || in(0xfff9, 0xfffb) || in(0xe0000, 0xe007f) ||
         c == 0xfffe || c == 0xffff;  // no characters; XML refuses them
}

std::string escaped(const char* format, std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(value));
  return text.data();
}

std::string spelled(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return c < 0x80 ? escaped("\\x%02x", c) : escaped("\\u%04x", c);
}

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    if (!point.valid) {
      shown += escaped("\\x%02x", point.value);
    } else if (is_control(point.value) || is_unseen(point.value)) {
      shown += spelled(point.value);
    } else {
      shown += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return shown;
}

}  // namespace nsa
