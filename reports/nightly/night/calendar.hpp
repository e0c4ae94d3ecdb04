// Nights of all series in one order, so that "the last night" and "14 nights ago" mean the same.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::nightly {

struct Calendar {
  std::int64_t nights = 0;                         // that any series has
  std::vector<std::vector<std::int64_t>> ordinal;  // by series and its night, ascending
};

/// Nights of two series are one where their times are the same text, or, without times, their
/// indices.
Calendar calendar_of(const std::vector<Series>& series);

}  // namespace nsa::nightly
