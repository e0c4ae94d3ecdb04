// A level that was left and came back, which no single split shows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace nsa::nightly {

/// The stretch of three nights or more that differs most from all the others, where p < alpha. p is
/// Student's, times the number of stretches: too large, which is good enough to propose two steps
/// that are judged by themselves. Stretches move as a block, like sides of a split.
/// @return [first, last) in `data`
std::optional<std::pair<std::size_t, std::size_t>> find_pulse(std::span<const double> data,
                                                              double least_sd, double alpha);

}  // namespace nsa::nightly
