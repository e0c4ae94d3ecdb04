// Ways to pick blocks by their scores. Blocks 0, current - 1 and current are forced and no picks.
#pragma once

#include <cstdint>
#include <vector>

#include "data.hpp"

namespace nsa::selection {

using Picks = std::vector<std::int64_t>;  // blocks, best first

inline constexpr std::int64_t kForced = 3;
inline constexpr std::int64_t kSuper = 4;  // blocks of a super-block

/// The best count - 3 of the candidates; ties to the lower block.
Picks exact_picks(const Row& scores, std::int64_t count);
/// The users' hierarchy: the best (count - 3) / 2 super-blocks by their best block, rounded up, and
/// the best two blocks of each.
Picks hierarchical_picks(const Row& scores, std::int64_t count);
/// Exact among the candidates of the best quarter of the super-blocks by their mean score.
Picks two_level_picks(const Row& scores, std::int64_t count);
/// The best of the exact picks that hold 90 % of their score.
Picks most_of_picks(const Row& scores, std::int64_t count);

}  // namespace nsa::selection
