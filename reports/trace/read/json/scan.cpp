#include "scan.hpp"

#include <cstring>

namespace nsa::trace {
namespace {

/// After the quote that closes the string whose first byte is at `at`; nullptr when it is not
/// there.
const char* behind_string(const char* at, const char* end) {
  const char* const first = at;
  for (;;) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
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
  for (const char* at = begin; at < end;) {
    switch (*at) {
      case '"':
        at = behind_string(at + 1, end);
        if (!at) return found;
        break;
      case '{':
      case '[':
        ++at;
        if (++depth > kMaxJsonDepth) {
          found.too_deep = true;
          found.deep_at = static_cast<std::size_t>(at - begin);
          return found;
        }
        break;
      case '}':
      case ']':
        if (depth == 0) {
          note(at);
          found.closed = true;
          return found;
        }
        --depth;
        ++at;
        break;
      case ',':
        if (depth == 0) {
          note(at);
          if (!many) return found;
        }
        ++at;
        break;
      default:
        ++at;
    }
  }
  return found;
}

std::size_t last_object_end(std::string_view text) {
  constexpr std::string_view kBlanks = " \n\r\t";
  std::size_t open = text.size();
  while (open > 0 && (open = text.rfind('{', open - 1)) != text.npos && open > 0) {
    const std::size_t key = text.find_first_not_of(kBlanks, open + 1);
    if (key == text.npos || text[key] != '"') continue;
    const std::size_t comma = text.find_last_not_of(kBlanks, open - 1);
    if (comma == text.npos || comma == 0 || text[comma] != ',') continue;
    const std::size_t close = text.find_last_not_of(kBlanks, comma - 1);
    if (close != text.npos && text[close] == '}') return comma;
  }
  return 0;
}

}  // namespace nsa::trace
