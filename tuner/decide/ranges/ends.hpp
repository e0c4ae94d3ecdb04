// Where nobody measured: a range ends where its evidence ends, and goes on where the declared
// orders of the variants leave no doubt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "place.hpp"

namespace nsa::tuner {

/// The first and the last length that a run of lengths [shortest, longest] may speak for.
std::int64_t earliest_start(std::int64_t shortest);
std::int64_t latest_end(std::int64_t longest);

/// Where the range of the longest length ends: at twice that, or before, where a variant of a lower
/// declared order will have overtaken the one that runs.
std::int64_t end_of(const Group& group, const std::vector<LengthRatios>& points,
                    std::size_t variant);

/// What runs beyond the longest measured length, and why nothing else can be faster there.
struct Beyond {
  std::int64_t from = 0;  // axis value; to infinity
  std::size_t variant = 0;
  std::string why;
};
/// Goes by the declared exponents and by how ratios moved at the longest lengths: the variant that
/// runs at the longest goes on where nothing of a lower order is near and nothing of its own order
/// catches up; else one of the lowest order from where it has surely overtaken the others. Nothing
/// where that cannot be told, where an exponent is not declared, or where the axis has an end.
std::optional<Beyond> beyond(const Group& group, const std::vector<LengthRatios>& points,
                             std::size_t last_variant);

/// Whether nothing that was measured speaks against a variant that went on beyond so far: nothing
/// is of a lower order, and nothing of its own order surely leads it at the longest length or
/// surely will.
bool may_go_on(const Group& group, const std::vector<LengthRatios>& points, std::size_t variant);

}  // namespace nsa::tuner
