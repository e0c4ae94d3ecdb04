// Sizes of the gate's tile in shared memory: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

namespace nsa::cuda {

inline constexpr int kGateWarps = 8;
inline constexpr int kGateUnits = 32;       // hidden units at a time: one per lane
inline constexpr int kGateUnitStride = 33;  // floats between two columns of their weights
inline constexpr int kMostGateRows = 4;     // (token, KV head) of a warp
inline constexpr std::int64_t kMaxGateDim = 384;

/// Columns of the units' weights, and the mean queries of each warp's rows.
constexpr int gate_shared_floats(int dk, int rows) {
  return dk * (kGateUnitStride + kGateWarps * rows);
}
static_assert(gate_shared_floats(kMaxGateDim, kMostGateRows) * 4 <= 100 * 1024,
              "99 KB of a block on 8.6 and 8.9");

}  // namespace nsa::cuda
