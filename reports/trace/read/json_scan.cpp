#include "json_scan.hpp"

#include <array>
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

constexpr std::ptrdiff_t kShort = 24;  // most strings of a trace are keys; a call takes longer

/// The next quote, or nullptr.
const char* next_quote(const char* at, const char* end) {
  const char* const near = end - at > kShort ? at + kShort : end;
  for (; at < near; ++at)
    if (*at == '"') return at;
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
  for (const char* at = skip_plain(begin, end); at < end; at = skip_plain(at, end)) {
    switch (class_of(*at)) {
      case plain:  // skipped above
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
