// Sizes of the gate's tile in shared memory: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

namespace nsa::cuda {

inline constexpr int kGateWarps = 8;
inline constexpr int kGateRows = 16;   // (token, KV head) of a block: one per lane of half a warp
inline constexpr int kGateUnits = 32;  // hidden units at a time: two per half of a warp
inline constexpr std::int64_t kMaxGateDim = 384;

/// Floats between two rows of mean queries: a multiple of four and odd in units of four, so that
/// the lanes of a warp read 16 bytes each without bank conflicts.
constexpr int gate_stride(int dk) {
  const int fours = (dk + 3) / 4;
  return 4 * (fours % 2 == 0 ? fours + 1 : fours);
}
/// Mean queries, the units' weights (fc1; its bias and fc2), partial logits, gates.
constexpr int gate_shared_floats(int dk) {
  return (kGateRows + kGateUnits) * gate_stride(dk) + 4 * kGateUnits +
         2 * kGateWarps * kGateRows * 3 + kGateRows * 3;
}
static_assert(gate_shared_floats(kMaxGateDim) * 4 <= 104 * 1024, "99 KB of a block on 8.6 and 8.9");

}  // namespace nsa::cuda
