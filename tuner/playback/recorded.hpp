// Recorded noise of a real device: series of successive runs, each time over its settled time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nsa::tuner::playback {

using Series = std::vector<double>;

/// A CSV of positive numbers, a series a line; lines with # are left aside. InputError
/// "<where>:<line>: ..." where something else stands there, or a series is shorter than 2.
std::vector<Series> parse_recorded(std::string_view text, const std::string& where);
/// Median of the `window` values around `at`, of fewer at the ends: as many on each side.
double local_median(const Series& series, std::size_t at, std::size_t window);

}  // namespace nsa::tuner::playback
