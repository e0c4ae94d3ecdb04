// The order in which the variants of a contest are visited: random, then the same backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nsa::tuner {

/// Slots 0 .. slots-1 of one round, each twice: a random permutation and its reverse (A B B A), so
/// that a linear drift falls out of the mean of a pair. Depends on its arguments only.
std::vector<std::size_t> round_order(std::uint64_t seed, std::string_view contest,
                                     std::int64_t process, std::int64_t round, std::size_t slots);

/// Rows that the parent checks, of `rows` rows whose sequences begin at `begins`: first, last, both
/// sides of selection block boundaries (spread evenly when there are more than three quarters of
/// `count`), and random ones. Ascending, at most `count`, all of them when there are fewer.
std::vector<std::int64_t> rows_to_verify(std::int64_t rows, const std::vector<std::int64_t>& begins,
                                         std::int64_t block, std::int64_t count,
                                         std::uint64_t seed);

}  // namespace nsa::tuner
