// Where the tuner decides and the runtime looks.
#pragma once

#include "nsa/schemas/problem.hpp"

namespace nsa {

/// axis_of, but for launches of training: no switch compares the length of a row there, and rows of
/// the table go on differing beyond the window.
inline Axis decision_axis(Stage stage, Phase phase, Direction direction) noexcept {
  const Axis axis = axis_of(stage, phase);
  return axis == Axis::row_len && direction != Direction::forward ? Axis::seq_len : axis;
}

}  // namespace nsa
