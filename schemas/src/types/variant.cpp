// The one-line text of a variant: "stage+stage/name.coordinate=value.coordinate=value".
#include "nsa/schemas/variant_text.hpp"

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
                   "; write it as stage/name or stage/name.bq=64.st=3");
}

std::string word(std::string_view text, std::string_view whole, const char* what) {
  if (text.empty()) refuse(whole, std::string("no ") + what);
  if (!std::all_of(text.begin(), text.end(), is_word))
    refuse(whole, std::string(what) + " holds characters other than letters, digits, _ and -");
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

/// "bq=64", or "bq64" as it was spelled before: there the number is the digits at the end.
std::pair<std::string, std::int64_t> coordinate(std::string_view text, std::string_view whole) {
  const std::size_t equals = text.find('=');
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  const bool older = equals == std::string_view::npos;
  const std::string_view name = text.substr(0, older ? digits : equals);
  const std::string_view number = text.substr(older ? digits : equals + 1);
  std::int64_t value = 0;
  const char* last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, value);
  if (error != std::errc{} || end != last)
    refuse(whole, "a coordinate has no number that fits 64 bits");
  return {word(name, whole, "coordinate name"), value};
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
  if (!id.point.empty()) text += '.' + point_text(id.point);
  return text;
}

std::string point_text(const Point& point) {
  std::string text;
  for (const auto& [name, value] : point)
    text += (text.empty() ? "" : ".") + name + "=" + std::to_string(value);
  return text;
}

Point parse_point(std::string_view text, std::string_view whole) {
  Point point;
  if (text.empty()) return point;
  for (const auto part : split(text, text.find(';') == std::string_view::npos ? '.' : ';'))
    point.push_back(coordinate(part, whole));
  return point;
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

std::string with_current_point(const std::string& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  try {
    return to_string(parse_variant_id(text.substr(0, end))) + text.substr(end);
  } catch (const InputError&) {
    return text;
  }
}

std::string with_older_point(std::string text) {
  const auto end = std::find(text.begin(), text.end(), ' ');
  text.erase(std::remove(text.begin(), end, '='), end);
  return text;
}

}  // namespace nsa
