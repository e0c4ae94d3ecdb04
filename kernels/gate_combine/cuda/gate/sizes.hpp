// Sizes of the gate's tile in shared memory: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

namespace nsa::cuda {

inline constexpr int kGateWarps = 8;
inline constexpr int kGateUnits = 32;       // hidden units at a time: one per lane
inline constexpr int kGateUnitStride = 33;  // floats between two columns of their weights
inline constexpr int kMostGateRows = 4;     // (token, KV head) of a warp
inline constexpr std::int64_t kMaxGateDim = 384;

/// Columns of the units' weights, `units` times 32 of them; gates and mean queries of each warp's
/// rows.
constexpr int gate_shared_floats(int dk, int rows, int units) {
  return dk * (kGateUnitStride * units + kGateWarps * rows) + 4 * kGateWarps * rows;
}
static_assert(gate_shared_floats(kMaxGateDim, kMostGateRows, 1) * 4 <= 100 * 1024,
              "99 KB of a block on 8.6 and 8.9");
/// How many times 32 units a block keeps: all of them where two such blocks fit an SM, else 32,
/// which it reads again for each of its rows.
constexpr int gate_units_kept(int dk, int rows, int hidden) {
  const int all = (hidden + kGateUnits - 1) / kGateUnits;
  return gate_shared_floats(dk, rows, all) * 4 <= 64 * 1024 ? all : 1;
}

}  // namespace nsa::cuda
