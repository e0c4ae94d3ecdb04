#include "values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>

namespace nsa::env {
namespace {

bool equal_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == y;
  });
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  text = env::trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<bool> parse_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 4> kTrue{"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 4> kFalse{"0", "false", "no", "off"};
  const auto is = [&](std::string_view word) { return equal_any_case(trimmed(text), word); };
  if (std::any_of(kTrue.begin(), kTrue.end(), is)) return true;
  if (std::any_of(kFalse.begin(), kFalse.end(), is)) return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) { return parse_number<double>(text); }

}  // namespace nsa::env
