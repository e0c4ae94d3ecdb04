// Addresses on the device, and the row tiles in shared memory that both kinds of arithmetic share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/flash/attend_params.hpp"
#include "cuda/flash/tile_sizes.hpp"

namespace nsa::cuda {

inline constexpr float kLn2 = 0.693147180559945309f;

template <class T, class Untyped>
__device__ auto* head_row(const HeadTensor<Untyped>& tensor, std::int64_t row, std::int64_t head) {
  return static_cast<T*>(tensor.data) + row * tensor.row_stride + head * tensor.head_stride;
}

/// Range `i` of a row of ranges, cut to the keys that exist. Empty ranges have begin >= end.
struct KeyRange {
  int begin, end;
};
__device__ inline KeyRange key_range(const AttendParams& p, std::int64_t token, int kv_head, int i,
                                     int kv_len) {
  const std::int32_t* pair = p.ranges + token * p.ranges_row_stride +
                             kv_head / p.ranges_share * p.ranges_head_stride +
                             i * p.ranges_pair_stride;
  return {pair[0] < 0 ? 0 : pair[0], pair[1] < kv_len ? pair[1] : kv_len};
}

/// Index of the sequence that holds row `token` of the queries.
__device__ inline std::int64_t sequence_index(const Sequence* sequences, std::int64_t batch,
                                              std::int64_t token) {
  std::int64_t low = 0, high = batch - 1;  // the last one whose q_begin is not after the token
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (sequences[middle].q_begin <= token) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}
__device__ inline Sequence sequence_of_token(const Sequence* sequences, std::int64_t batch,
                                             std::int64_t token) {
  return sequences[sequence_index(sequences, batch, token)];
}

/// Copies rows to shared memory with all threads of the block: row r from `source(r)`, zeros where
/// that is null and from `dim` to `padded` (a multiple of 16, and of 16 bytes).
template <class T, class Source>
__device__ void load_rows(T* tile, int stride, int rows, int dim, int padded, bool vectors,
                          Source source) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  const int pieces = padded / kVector;
  for (int i = static_cast<int>(threadIdx.x); i < rows * pieces;
       i += static_cast<int>(blockDim.x)) {
    const int row = i / pieces, column = i % pieces * kVector;
    const T* from = source(row);
    T* to = tile + row * stride + column;
    if (from && vectors && column + kVector <= dim) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from + column);
      continue;
    }
    for (int j = 0; j < kVector; ++j) to[j] = from && column + j < dim ? from[column + j] : T(0.0f);
  }
}

/// True when the plain C++ that predicts the shared memory of a tile agrees with the tile.
template <class Tile>
constexpr bool agrees(const TileSizes& t, int dk, int padded_dv) {
  const int elements = Tile::q_elements(dk) + Tile::k_elements(dk) + Tile::kVElements;
  return t.rows == Tile::kRows && t.keys == Tile::kKeys &&
         tile_bytes(t, dk, padded_dv) ==
             elements * static_cast<int>(sizeof(typename Tile::Storage)) + Tile::kScratchBytes;
}

}  // namespace nsa::cuda
