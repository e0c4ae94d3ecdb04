#include "nsa/schemas/text.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

struct Span {
  std::uint32_t first, last;
};
/// Marks that stand on the letter before (Unicode: Mn, Me, joiners).
constexpr std::array<Span, 6> kZeroWide{{{0x0300, 0x036f},
                                         {0x200b, 0x200f},
                                         {0x20d0, 0x20ff},
                                         {0xfe00, 0xfe0f},
                                         {0xfe20, 0xfe2f},
                                         {0xfeff, 0xfeff}}};
/// East Asian Wide and Fullwidth, and emoji.
constexpr std::array<Span, 9> kTwoWide{{{0x1100, 0x115f},
                                        {0x2e80, 0x303e},
                                        {0x3041, 0xa4cf},
                                        {0xac00, 0xd7a3},
                                        {0xf900, 0xfaff},
                                        {0xff00, 0xff60},
                                        {0xffe0, 0xffe6},
                                        {0x1f300, 0x1faff},
                                        {0x20000, 0x3fffd}}};

template <std::size_t N>
bool in(const std::array<Span, N>& spans, std::uint32_t value) {
  return std::any_of(spans.begin(), spans.end(), [value](const Span& span) {
    return value >= span.first && value <= span.last;
  });
}

std::size_t width_of(const CodePoint& point) {
  if (!point.valid) return 1;
  if (in(kZeroWide, point.value)) return 0;
  return in(kTwoWide, point.value) ? 2 : 1;
}

bool control(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || value == 0x2028 || value == 0x2029 ||
         (value >= 0x202a && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    width += width_of(point);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const bool shown = point.valid && !control(point.value);
    result += shown ? text.substr(0, point.bytes) : std::string_view("?");
    text.remove_prefix(point.bytes);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string("...").substr(0, columns);
  std::string result;
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    if (width + width_of(point) > columns - 3) break;
    width += width_of(point);
    result += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return result + "...";
}

}  // namespace nsa::reports
