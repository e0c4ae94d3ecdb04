// The one-line text of a variant: "stage+stage/name.coordinate.coordinate".
#include "nsa/schemas/variant.hpp"

#include <algorithm>
#include <charconv>

#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  constexpr std::size_t kShown = 80;
  throw InputError("variant '" + std::string(text.substr(0, kShown)) + "': " + why +
                   "; write it as stage/name or stage/name.bq64.st3");
}

std::string word(std::string_view text, std::string_view whole, const char* what) {
  if (text.empty()) refuse(whole, std::string("no ") + what);
  if (!std::all_of(text.begin(), text.end(), is_word))
    refuse(whole, std::string(what) + " holds other characters than letters, digits, _ and -");
  return std::string(text);
}

/// The parts of `text` between separators; one empty part for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::pair<std::string, std::int64_t> coordinate(std::string_view text, std::string_view whole) {
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    refuse(whole, "a coordinate has no number that fits 64 bits");
  return {word(text.substr(0, digits), whole, "coordinate name"), value};
}

}  // namespace

std::string to_string(const VariantId& id) {
  std::string text;
  for (const auto& stage : id.stages) {
    if (!text.empty()) text += '+';
    text += stage;
  }
  text += '/';
  text += id.name;
  for (const auto& [name, value] : id.point) text += '.' + name + std::to_string(value);
  return text;
}

VariantId with_current_coordinates(VariantId id) {
  struct Renamed {
    std::string_view variant, before, now;
  };
  static constexpr Renamed kRenamed[] = {{"fused_query", "t", "bq"},
                                         {"fused_block", "c", "chunk"},
                                         {"packed", "rn", "reserve_rows"},
                                         {"varlen_v2", "rk", "reserve_keys"}};
  if (id.stages.size() != 1 || id.stages.front() != "attend_selected") return id;
  for (const auto& [variant, before, now] : kRenamed) {
    if (id.name != variant) continue;
    for (auto& [coordinate, value] : id.point) {
      if (coordinate == before) coordinate = now;
    }
  }
  return id;
}

std::vector<std::string> sequence_of(const VariantId& id) {
  if (id.name.find('+') == std::string::npos) return {};
  std::vector<std::string> names;
  for (const std::string_view name : split(id.name, '+')) names.emplace_back(name);
  return names;
}

std::optional<std::string> find_gap(const VariantId& id) {
  const std::vector<std::string> names = sequence_of(id);
  if (names.empty()) return std::nullopt;
  for (std::size_t i = 0; i < id.stages.size(); ++i) {
    if (i >= names.size() || names[i].empty()) return "leaves " + id.stages[i] + " without a row";
  }
  if (names.size() == id.stages.size()) return std::nullopt;
  return "names " + std::to_string(names.size()) + " rows for " + std::to_string(id.stages.size()) +
         (id.stages.size() == 1 ? " stage" : " stages");
}

VariantId parse_variant_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) refuse(text, "no '/' between stage and name");
  VariantId id;
  id.stages.clear();
  for (const auto stage : split(text.substr(0, slash), '+'))
    id.stages.push_back(word(stage, text, "stage"));
  const auto parts = split(text.substr(slash + 1), '.');
  id.name = parts.front();
  if (const auto gap = find_gap(id)) refuse(text, *gap);
  for (const auto name : split(parts.front(), '+')) word(name, text, "name");
  for (std::size_t i = 1; i < parts.size(); ++i) id.point.push_back(coordinate(parts[i], text));
  return with_current_coordinates(std::move(id));
}

}  // namespace nsa
