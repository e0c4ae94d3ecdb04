#include "playback/recorded.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::tuner::playback {
namespace {

/// Nothing where a field is no positive number.
Series series_of(std::string_view line) {
  Series series;
  for (const char *at = line.data(), *end = at + line.size(); at < end;) {
    double value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    const bool good = error == std::errc{} && std::isfinite(value) && value > 0;
    if (!good || (behind != end && *behind != ',')) return {};
    series.push_back(value);
    at = behind == end ? end : behind + 1;
  }
  return series;
}

}  // namespace

std::vector<Series> parse_recorded(std::string_view text, const std::string& where) {
  std::vector<Series> all;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view content = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), content.size() + 1));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.empty() || content.front() == '#') continue;
    Series series = series_of(content);
    if (series.size() < 2)
      throw InputError(
          where + ":" + std::to_string(line) +
          ": is not a series of two or more positive numbers with commas between them");
    all.push_back(std::move(series));
  }
  if (all.empty()) throw InputError(where + ": has no series");
  return all;
}

double local_median(const Series& series, std::size_t at, std::size_t window) {
  const std::size_t reach = std::min({window / 2, at, series.size() - 1 - at});
  const auto from = series.begin() + static_cast<std::ptrdiff_t>(at - reach);
  return median(Series(from, from + static_cast<std::ptrdiff_t>(2 * reach + 1)));
}

}  // namespace nsa::tuner::playback
