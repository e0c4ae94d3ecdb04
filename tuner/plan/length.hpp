// The length that is varied in a problem, and problems that differ in it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nsa/schemas/problem.hpp"

namespace nsa::tuner {

/// A sweep goes up to so many times the longest length of its spec.
inline constexpr std::int64_t kFurthest = 16;

/// In tokens: those that are cached where a cache grows (decode), else the new ones, of the
/// longest sequence.
std::int64_t length_of(const Problem& problem);
/// "seq_len" or "context_len": the name of that length.
const char* length_axis(const Problem& problem);
/// The same problem with another length, or nothing where its sequences differ in length.
std::optional<Problem> with_length(Problem problem, std::int64_t length);
/// The same for problems that differ in their length alone.
std::string shape_key(const Problem& problem);

}  // namespace nsa::tuner
