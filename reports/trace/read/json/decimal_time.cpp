#include "decimal_time.hpp"

#include <algorithm>
#include <charconv>

namespace nsa::trace {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

struct Parts {
  bool negative = false;
  std::string_view whole, fraction;
  std::string_view exponent;  // with its sign; empty = none
};

/// Splits a JSON number; nothing when it is none.
std::optional<Parts> split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  if (text.starts_with('-')) parts.negative = true, at = 1;
  std::size_t end = skip_digits(text, at);
  parts.whole = text.substr(at, end - at);
  if (parts.whole.empty() || (parts.whole.size() > 1 && parts.whole[0] == '0')) return {};
  at = end;
  if (at < text.size() && text[at] == '.') {
    end = skip_digits(text, at + 1);
    parts.fraction = text.substr(at + 1, end - at - 1);
    if (parts.fraction.empty()) return {};
    at = end;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    end = skip_digits(text, digits);
    if (end == digits) return {};
    parts.exponent = text.substr(at + 1, end - at - 1);
    at = end;
  }
  return at == text.size() ? std::optional(parts) : std::nullopt;
}

std::optional<int> exponent_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int value = 0;
  if (text.empty()) return 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && value > -1000 && value < 1000 ? std::optional(value)
                                                               : std::nullopt;
}

/// The digits as one integer whose last digit has the weight 10^-(shift digits after the point).
struct Digits {
  std::string_view whole, fraction;
  int count() const { return static_cast<int>(whole.size() + fraction.size()); }
  int at(int i) const {
    const auto k = static_cast<std::size_t>(i);
    return (k < whole.size() ? whole[k] : fraction[k - whole.size()]) - '0';
  }
};

/// The usual form, "4458676522690.655": no sign, no exponent, few digits. Nothing for any other.
std::optional<std::int64_t> usual_microseconds(std::string_view text) {
  constexpr std::size_t kMostDigits = 15;
  const std::size_t point = skip_digits(text, 0);
  if (point == 0 || point > kMostDigits || (text[0] == '0' && point > 1)) return {};
  std::int64_t value = 0;
  for (const char c : text.substr(0, point)) value = value * 10 + (c - '0');
  if (point == text.size()) return value * 1000;
  const std::string_view fraction = text.substr(point + 1);
  if (text[point] != '.' || fraction.empty() || fraction.size() > 3) return {};
  for (std::size_t i = 0; i < 3; ++i) {
    const char c = i < fraction.size() ? fraction[i] : '0';
    if (!is_digit(c)) return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

bool is_json_number(std::string_view text) {
  const std::size_t point = skip_digits(text, 0);
  if (point > 0 && (text[0] != '0' || point == 1)) {
    if (point == text.size()) return true;
    if (text[point] == '.' && point + 1 < text.size() &&
        skip_digits(text, point + 1) == text.size())
      return true;
  }
  return split(text).has_value();
}

std::optional<std::int64_t> microseconds_to_ns(std::string_view text) {
  if (const auto usual = usual_microseconds(text)) return usual;
  const std::optional<Parts> parts = split(text);
  if (!parts || text.size() > 1000) return {};
  const std::optional<int> exponent = exponent_of(parts->exponent);
  if (!exponent) return {};
  const Digits digits{parts->whole, parts->fraction};
  // How many digits stand before the point once the number is in nanoseconds.
  const int kept = static_cast<int>(parts->whole.size()) + 3 + *exponent;
  std::int64_t value = 0;
  for (int i = 0; i < kept; ++i) {
    const int digit = i < digits.count() ? digits.at(i) : 0;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
      return {};
  }
  const bool round_up = kept >= 0 && kept < digits.count() && digits.at(kept) >= 5;
  if (round_up && __builtin_add_overflow(value, 1, &value)) return {};
  return parts->negative ? -value : value;
}

}  // namespace nsa::trace
