// The keys that the queries of a sequence see through a window: a kernel that is told of no others
// has the same shape at every length of the context.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::vendor {

struct WindowKeys {
  std::int64_t first_row = 0;  // of k and v
  std::int64_t count = 0;      // up to the last query, which stands at the last of them
  bool bounded = false;        // some query sees fewer than all of those up to itself
};

/// Query i sees the last `window` keys up to its own (docs/nsa.md 7), so the first one that any
/// query sees is window - 1 in front of the first query.
inline WindowKeys window_keys(const Sequence& sequence, std::int64_t window) {
  WindowKeys keys;
  keys.count = std::min(sequence.kv_len, sequence.q_len + window - 1);
  keys.first_row = sequence.kv_begin + sequence.kv_len - keys.count;
  keys.bounded = window < keys.count;
  return keys;
}

struct RunSteps {
  std::int64_t q = 0, kv = 0;
};

/// Rows from one sequence of a run to the next. One sequence alone has no next: then the steps are
/// numbers that the shape has anyway, because a plan belongs to its strides too, and the context of
/// a decoder grows with each token.
inline RunSteps steps_of(std::span<const Sequence> run, const WindowKeys& keys) {
  if (run.size() < 2) return {run[0].q_len, keys.count};
  return {run[1].q_begin - run[0].q_begin, run[1].kv_begin - run[0].kv_begin};
}

}  // namespace nsa::vendor
