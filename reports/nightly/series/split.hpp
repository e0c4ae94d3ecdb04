// The best place to cut a stretch of nights in two levels.
#pragma once

#include <cstddef>
#include <span>

namespace nsa::nightly {

/// Fewest nights on either side of a split.
constexpr std::size_t kLeastSide = 2;

/// Mean of some nights, one at least, and squares around it.
struct Level {
  double nights = 0, mean = 0, squares = 0;
};
Level level_of(std::span<const double> data);

/// Two levels.
struct Split {
  std::size_t at = 0;  // first of the new level; 0 = no split
  double old_level = 0, new_level = 0;
  double sd = 0;     // within the levels
  double error = 0;  // SE of the difference, autocorrelation included
  double t = 0;      // |difference| / error; chance_of_split makes a p of it
};

/// The split with the largest t among those with kLeastSide nights or more on either side. A short
/// side must move as a block.
/// @param least_sd  the SD within the levels is taken to be no smaller
Split best_split(std::span<const double> data, double least_sd);

/// best_split of a series of one epoch, as its null table is made: noise and spikes come from it.
Split best_split_of_series(std::span<const double> data);

/// Whether enough nights of `side` lie past half way from `from` to `to`, so that no single one
/// makes a level: all of four or fewer, more than half of up to twenty.
bool moves_as_block(std::span<const double> side, double from, double to);

/// Lag-1 autocorrelation of what is left of `data` after its levels, from 0 to 0.9. Levels that
/// nobody found yet look like autocorrelation, but not in differences over one night and over two,
/// whose variances are as 1 to 1 + rho: the smaller of both estimates counts, the first less its
/// standard error, so that independent nights lose no power to one that is not there.
/// @param rest    data less their levels
/// @param change  between the levels: what is nothing beside it is rounding
double autocorrelation(std::span<const double> rest, double change);

/// Variance of a mean of n nights, over that of n independent ones, at lag-1 autocorrelation rho.
double mean_inflation(double rho, std::size_t n);

}  // namespace nsa::nightly
