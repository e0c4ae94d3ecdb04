#include "nsa/reports/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace nsa::reports {
namespace {

template <std::size_t N>
std::string scaled(double value, double step, const std::array<std::string_view, N>& units) {
  if (!std::isfinite(value)) return "-";
  std::size_t unit = 0;
  // 999.5 would print as 1000 of the smaller unit
  while (unit + 1 < N && std::abs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  return (whole ? fmt::format("{:.0f}", value) : three_digits(value)) + " " +
         std::string(units[unit]);
}

}  // namespace

std::string format_ns(double ns) {
  return scaled(ns, 1000, std::array<std::string_view, 4>{"ns", "us", "ms", "s"});
}

std::string format_flop_per_s(double flop_per_s) {
  return scaled(flop_per_s / 1e6, 1000,
                std::array<std::string_view, 4>{"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"});
}

std::string format_bytes(std::int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024,
                std::array<std::string_view, 5>{"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return "-";
  return three_digits(share * 100) + " %";
}

std::string format_tokens(std::int64_t tokens) {
  std::string text = std::to_string(tokens);
  const std::size_t sign = tokens < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 9.5) return fmt::format("{:.2g} s", seconds);
  const auto with_rest = [](std::int64_t all, std::int64_t size, const char* unit,
                            const char* rest_unit) {
    const std::string whole = fmt::format("{} {}", all / size, unit);
    return all % size == 0 ? whole : fmt::format("{} {} {}", whole, all % size, rest_unit);
  };
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 3599.5) return with_rest(std::llround(seconds), 60, "min", "s");
  if (seconds < 48 * 3600 - 30) return with_rest(std::llround(seconds / 60), 60, "h", "min");
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string format_seconds_left(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto s = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e9)));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

}  // namespace nsa::reports
