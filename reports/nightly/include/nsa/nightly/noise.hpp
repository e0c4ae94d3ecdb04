// How much a series moves from night to night when nothing happens, and nights that stand alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::nightly {

/// s0 = 1.4826 median|difference of neighbours| / sqrt 2, which steps and spikes hardly move.
/// Around 0 and not around their median, which of two values that take turns is one of the
/// differences. Differences over the seam between two epochs do not count.
double difference_noise(std::span<const double> data, std::span<const std::size_t> epochs);

/// SD of rounding to the smallest difference between values of a series: of their logarithms where
/// all are positive, else of the values.
double rounding_noise(const Series& series);

/// Median of one value or more.
double median_of(std::span<const double> values);

/// Nights further than 5 `noise` from the medians of the three nights before and of the three
/// after, whose neighbours are within 3 of theirs. The last night of an epoch has no neighbour yet
/// and is never one.
std::vector<std::size_t> isolated_spikes(std::span<const double> data,
                                         std::span<const std::size_t> epochs, double noise);

/// `data` with every spike replaced by the median of the nights around it.
std::vector<double> without_spikes(std::span<const double> data,
                                   std::span<const std::size_t> epochs,
                                   std::span<const std::size_t> spikes);

}  // namespace nsa::nightly
