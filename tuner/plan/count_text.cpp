#include "nsa/tuner/count_text.hpp"

#include <charconv>
#include <cmath>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxValues = 4096;

double unit_of(char last) {
  if (last == 'k' || last == 'K') return 1024;
  return last == 'm' || last == 'M' ? 1024.0 * 1024 : 1;
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t plain = 0;
  const auto exact = std::from_chars(text.data(), text.data() + text.size(), plain);
  if (exact.ec == std::errc() && exact.ptr == text.data() + text.size()) return plain;
  const double unit = unit_of(text.back());
  if (unit > 1) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  value *= unit;
  constexpr double kMost = 9007199254740992;  // 2^53: from there on a double skips numbers
  if (!(std::abs(value) <= kMost) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::vector<std::string>> parse_range(std::string_view text) {
  const std::size_t first = text.find(':'), second = text.rfind(':');
  if (first == text.npos || first == second || second + 2 >= text.size()) return std::nullopt;
  const auto from = parse_count(text.substr(0, first));
  const auto to = parse_count(text.substr(first + 1, second - first - 1));
  const char kind = text[second + 1];
  const auto step = parse_count(text.substr(second + 2));
  if (!from || !to || !step || (kind != 'x' && kind != '+')) return std::nullopt;
  const bool ends = kind == 'x' ? *step > 1 && *from > 0 : *step > 0;
  const auto refuse = [&](const char* what) {
    throw InputError(std::string(text) + ": the range " + what);
  };
  if (*to < *from || !ends) refuse("must ascend: 128:65536:x2 or 1000:8000:+1000");
  std::vector<std::string> values;
  std::int64_t value = *from;
  while (true) {
    if (values.size() == kMaxValues) refuse("has over 4096 values");
    values.push_back(std::to_string(value));
    std::int64_t next = 0;
    const bool over = kind == 'x' ? __builtin_mul_overflow(value, *step, &next)
                                  : __builtin_add_overflow(value, *step, &next);
    if (over || next > *to) return values;
    value = next;
  }
}

}  // namespace nsa::tuner
