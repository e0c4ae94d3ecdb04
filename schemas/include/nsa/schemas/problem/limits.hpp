// The largest problems, for who takes a length or a batch before there is a problem to check.
#pragma once

#include <cstdint>

namespace nsa {

/// Tokens of all sequences of a problem together, cached ones included; so of one sequence, too.
inline constexpr std::int64_t kMaxProblemTokens = std::int64_t{1} << 31;
/// Sequences of a problem.
inline constexpr std::int64_t kMaxProblemBatch = std::int64_t{1} << 16;

}  // namespace nsa
