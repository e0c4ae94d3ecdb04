#include "json_scan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace nsa::trace {
namespace {

enum Class : std::uint8_t { plain, quote, open, close, comma };

constexpr std::array<Class, 256> make_classes() {
  std::array<Class, 256> classes{};
  classes['"'] = quote;
  classes['{'] = classes['['] = open;
  classes['}'] = classes[']'] = close;
  classes[','] = comma;
  return classes;
}
constexpr std::array<Class, 256> kClasses = make_classes();

Class class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

// Eight bytes at once (Mycroft's test for a zero byte): its lowest bit is exact.
constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = kOnes << 7;
constexpr std::uint64_t zeros_in(std::uint64_t v) { return (v - kOnes) & ~v & kHighs; }

/// The first byte of the text in the lowest bits.
std::uint64_t load(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
}
std::uint64_t quotes_in(std::uint64_t bytes) { return zeros_in(bytes ^ kOnes * '"'); }
/// Of { } [ ]: they differ in bits 1, 2 and 5. So do Y, _, y and DEL from them, which JSON has in
/// strings only.
std::uint64_t brackets_in(std::uint64_t bytes) {
  return zeros_in((bytes & kOnes * 0xd9) ^ kOnes * 0x59);
}
std::ptrdiff_t first_of(std::uint64_t marks) { return std::countr_zero(marks) / 8; }

/// Inside of a value, where commas do not matter: the next byte that does, or the end.
const char* skip_inside(const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    const std::uint64_t bytes = load(at);
    if (const std::uint64_t marks = quotes_in(bytes) | brackets_in(bytes))
      return at + first_of(marks);
  }
  while (at < end && (class_of(*at) == plain || class_of(*at) == comma)) ++at;
  return at;
}

/// The next byte that matters, or the end.
const char* skip_plain(const char* at, const char* end) {
  for (; end - at >= 4; at += 4) {
    if (class_of(at[0]) != plain) return at;
    if (class_of(at[1]) != plain) return at + 1;
    if (class_of(at[2]) != plain) return at + 2;
    if (class_of(at[3]) != plain) return at + 3;
  }
  while (at < end && class_of(*at) == plain) ++at;
  return at;
}

constexpr std::ptrdiff_t kShort = 32;  // most strings of a trace are keys; a call takes longer

/// The next quote, or nullptr.
const char* next_quote(const char* at, const char* end) {
  for (const char* const near = at + std::min(end - at, kShort); near - at >= 8; at += 8)
    if (const std::uint64_t quotes = quotes_in(load(at))) return at + first_of(quotes);
  return static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
}

/// Behind the quote that closes the string whose first byte is at `at`; nullptr when it is not
/// there.
const char* behind_string(const char* at, const char* end) {
  const char* const first = at;
  for (;;) {
    at = next_quote(at, end);
    if (!at) return nullptr;
    const char* slash = at;
    while (slash > first && slash[-1] == '\\') --slash;
    ++at;
    if ((at - 1 - slash) % 2 == 0) return at;
  }
}

}  // namespace

std::size_t scan_string(std::string_view text) {
  const char* const behind = behind_string(text.data() + 1, text.data() + text.size());
  return behind ? static_cast<std::size_t>(behind - text.data()) : 0;
}

ValueScan scan_values(std::string_view text, bool many) {
  ValueScan found;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto note = [&](const char* at) {
    found.end = static_cast<std::size_t>(at - begin);
    found.whole = found.end > 0;
  };
  int depth = 0;
  const auto skip = [&](const char* at) {
    return depth > 0 ? skip_inside(at, end) : skip_plain(at, end);
  };
  for (const char* at = skip(begin); at < end; at = skip(at)) {
    switch (class_of(*at)) {
      case plain:  // no JSON: the parser says so
        ++at;
        break;
      case quote:
        at = behind_string(at + 1, end);
        if (!at) return found;
        break;
      case open:
        ++at;
        if (++depth > kMaxJsonDepth) {
          found.too_deep = true;
          found.deep_at = static_cast<std::size_t>(at - begin);
          return found;
        }
        break;
      case close:
        if (depth == 0) {
          note(at);
          found.closed = true;
          return found;
        }
        --depth;
        ++at;
        break;
      case comma:
        if (depth == 0) {
          note(at);
          if (!many) return found;
        }
        ++at;
        break;
    }
  }
  return found;
}

}  // namespace nsa::trace
