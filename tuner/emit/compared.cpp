#include "compared.hpp"

#include <algorithm>

namespace nsa::tuner {

std::optional<std::int64_t> compared_length(Compared compared, Axis axis, std::int64_t at,
                                            const ProblemClass& of) {
  const bool new_tokens = axis == Axis::seq_len && of.phase == Phase::prefill;
  const Geometry& g = of.geometry;
  switch (compared) {
    case Compared::nothing:
      break;
    case Compared::seq_len:
      if (axis == Axis::seq_len) return at;
      break;
    case Compared::window_row:
      if (axis == Axis::row_len) return at;
      if (new_tokens) return std::min(at, g.window);
      break;
    case Compared::compressed_tokens:
      if (axis == Axis::compressed_len) return at;
      if (new_tokens) return num_compressed(at, g);
      break;
    case Compared::selected_row:
      if (new_tokens) return std::min(at, g.sel_count * g.sel_block);
      break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_reaching(std::int64_t least, Compared compared, Axis axis,
                                           const ProblemClass& of) {
  const auto reaches = [&](std::int64_t at) {
    const auto length = compared_length(compared, axis, at, of);
    return length && *length >= least;
  };
  if (!reaches(kFarLength)) return std::nullopt;
  std::int64_t below = -1, at = kFarLength;
  while (at - below > 1) {
    const std::int64_t middle = below + (at - below) / 2;
    (reaches(middle) ? at : below) = middle;
  }
  return at;
}

std::int64_t last_on(Axis axis, const ProblemClass& of) {
  return axis == Axis::row_len ? of.geometry.window : kFarLength;
}

}  // namespace nsa::tuner
