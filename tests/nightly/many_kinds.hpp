// Series of every kind, to compare what has no unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/nightly/judge.hpp"

namespace nsa::test {

/// Fine and coarse timers, few levels, values that are not all positive, replicates; all times
/// multiplied by `scale`.
std::vector<nightly::Series> many_kinds(std::uint64_t seed, double scale);

/// All of a report that has no unit, to `digits`.
std::string unit_free(const nightly::Report& report, int digits);

}  // namespace nsa::test
