#include "python_json.hpp"

#include <algorithm>

#include "nsa/schemas/error.hpp"

namespace nsa::doctor {
namespace {

constexpr std::string_view kNoNumbers[] = {"NaN", "Infinity", "-Infinity"};

/// Length of the word that stands at the beginning of the text; 0: none of them.
std::size_t no_number_at(std::string_view text) {
  const auto* found = std::ranges::find_if(
      kNoNumbers, [text](std::string_view word) { return text.starts_with(word); });
  return found == std::end(kNoNumbers) ? 0 : found->size();
}

/// null in their place, but not inside of texts.
std::string with_null(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t word = quoted ? 0 : no_number_at(text.substr(i));
    if (word > 0) {
      out += "null";
      i += word;
      continue;
    }
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    }
    out += text[i++];
  }
  return out;
}

}  // namespace

Json parse_python_json(std::string_view text, const std::string& name) {
  try {
    return parse_json(text, name);
  } catch (const InputError&) {
    const bool any = std::ranges::any_of(
        kNoNumbers, [text](std::string_view word) { return text.find(word) != text.npos; });
    if (!any) throw;
    return parse_json(with_null(text), name);
  }
}

}  // namespace nsa::doctor
