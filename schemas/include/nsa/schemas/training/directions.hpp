// Directions of training's launches beside the two of types.hpp. They are constants here and no
// enumerators there because kernels are compiled from types.hpp, whose text their hashes cover: a
// word of the tuner's there would make every measurement stale. Functions share nothing: threads
// may call them at the same time.
#pragma once

#include "nsa/schemas/types.hpp"

namespace nsa {

/// "forward_saving": a forward launch that also writes what the backward pass reads of it.
inline constexpr Direction kForwardSaving{2};
/// "forward_backward": both passes of a composite, from its inputs to the gradients of all of them.
inline constexpr Direction kForwardBackward{3};
inline constexpr std::size_t kDirectionCount = 4;

/// Whether a launch in that direction writes gradients.
constexpr bool has_gradients(Direction direction) noexcept {
  return direction == Direction::backward || direction == kForwardBackward;
}

}  // namespace nsa
