// A direction of training's launches beside the two of types.hpp. It is a constant here and no
// enumerator there because kernels are compiled from types.hpp, whose text their hashes cover: a
// word of the tuner's there would make every measurement stale.
#pragma once

#include "nsa/schemas/types.hpp"

namespace nsa {

/// "forward_saving": a forward launch that also writes what the backward pass reads of it.
inline constexpr Direction kForwardSaving{2};
inline constexpr std::size_t kDirectionCount = 3;

}  // namespace nsa
