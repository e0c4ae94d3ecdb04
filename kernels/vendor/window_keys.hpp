// The keys that the queries of a sequence see through a window: a kernel that is told of no others
// has the same shape at every length of the context.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace nsa::vendor
