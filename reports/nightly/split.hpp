// The best place to cut a stretch of nights in two levels.
#pragma once

#include <cstddef>
#include <span>

namespace nsa::nightly {

/// Fewest nights on either side of a split.
constexpr std::size_t kLeastSide = 2;

/// Two levels.
struct Split {
  std::size_t at = 0;  // first of the new level; 0 = no split
  double old_level = 0, new_level = 0;
  double error = 0;  // SE of the difference, autocorrelation included
  double t = 0;      // |difference| / error; chance_of_split makes a p of it
};

/// The split with the largest t among those with kLeastSide nights or more on either side. A short
/// side must move as a block: past half way between the levels lie all of four nights or fewer, and
/// more than half of up to twenty.
/// @param least_sd  the SD within the levels is taken to be no smaller
Split best_split(std::span<const double> data, double least_sd);

/// best_split of a series of one epoch, as its null table is made: noise and spikes come from it.
Split best_split_of_series(std::span<const double> data);

/// Lag-1 autocorrelation of what is left of `rest` after its levels, less its standard error, so
/// that independent nights lose no power to one that is not there; from 0 to 0.9.
double autocorrelation(std::span<const double> rest);

/// Variance of a mean of n nights, over that of n independent ones, at lag-1 autocorrelation rho.
double mean_inflation(double rho, std::size_t n);

}  // namespace nsa::nightly
