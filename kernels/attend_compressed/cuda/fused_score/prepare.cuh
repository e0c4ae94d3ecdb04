// Tile images of K and V: 128 keys as shared memory will hold them, so that one bulk copy loads a
// tile. Two permutations ride along. Row 8 n + 2 c + e of an image is key 32 c + 2 n + e: a thread
// of the product then owns 32 keys in a row, which are 8 selection blocks. Columns of V are ordered
// so that a thread's sums are 8 neighbouring elements of the output, 16 bytes.
#pragma once

#include "attend_compressed/cuda/fused_score/item.cuh"
#include "cuda/launch/programmatic_launch.cuh"

namespace nsa::cuda::compressed {

/// The key that stands in row `row` of a tile image.
__device__ inline int key_of_row(int row) { return row / 2 % 4 * 32 + row / 8 * 2 + row % 2; }

/// The V column pair (even element) that stands at columns 8 piece + 2 pair of an image.
__device__ inline int column_of_pair(int piece, int pair) {
  return piece / 4 * 32 + 8 * pair + piece % 4 * 2;
}

/// Eight elements from a place that may begin anywhere.
template <class T>
__device__ uint4 eight_elements(const T* from, bool vectors) {
  if (vectors) return __ldg(reinterpret_cast<const uint4*>(from));
  uint4 all;
#pragma unroll
  for (int j = 0; j < 8; ++j) reinterpret_cast<T*>(&all)[j] = from[j];
  return all;
}
template <class T>
__device__ std::uint32_t two_elements(const T* from, bool vectors) {
  if (vectors) return __ldg(reinterpret_cast<const std::uint32_t*>(from));
  std::uint32_t both;
  reinterpret_cast<T*>(&both)[0] = from[0];
  reinterpret_cast<T*>(&both)[1] = from[1];
  return both;
}

inline constexpr int kPrepareThreads = 256, kPrepareRows = 32;

/// A block per 32 rows of a key tile and KV head.
template <class Tile>
__global__ void __launch_bounds__(kPrepareThreads) prepare_kernel(FusedParams p) {
  using T = typename Tile::Storage;
  constexpr int kParts = Tile::kKeys / kPrepareRows;
  griddep_launch_dependents();
  const int part = static_cast<int>(blockIdx.x) % kParts;
  const int kv_head = static_cast<int>(blockIdx.x) / kParts % p.score.kv_heads;
  const std::int64_t tile = static_cast<int>(blockIdx.x) / kParts / p.score.kv_heads;
  std::int64_t low = 0, high = p.score.batch - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (fused_key_tiles(p.score.sequences[middle].cmp_begin, middle) <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Sequence s = p.score.sequences[low];
  const std::int64_t first = (tile - fused_key_tiles(s.cmp_begin, low)) * Tile::kKeys;
  const std::int64_t image = kv_head * p.key_tiles + tile;
  constexpr int kPieces = (Tile::kDimK > Tile::kDimV ? Tile::kDimK : Tile::kDimV) / 8;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kPrepareRows * kPieces; i += kPrepareThreads) {
    const int row = part * kPrepareRows + i / kPieces, piece = i % kPieces;
    const std::int64_t key = first + key_of_row(row);
    uint4 k = make_uint4(0, 0, 0, 0), v = k;
    const bool in_v = Tile::kDimV == 8 * kPieces || piece < Tile::kDimV / 8;
    if (key < s.cmp_len) {
      k = eight_elements(static_cast<const T*>(p.score.k) +
                             (s.cmp_begin + key) * p.score.k_row_stride +
                             kv_head * p.score.k_head_stride + 8 * piece,
                         p.k_vectors);
    }
    if (key < s.cmp_len && in_v) {
      const T* from = static_cast<const T*>(p.v) + (s.cmp_begin + key) * p.v_row_stride +
                      kv_head * p.v_head_stride;
      v.x = two_elements(from + column_of_pair(piece, 0), p.v_vectors);
      v.y = two_elements(from + column_of_pair(piece, 1), p.v_vectors);
      v.z = two_elements(from + column_of_pair(piece, 2), p.v_vectors);
      v.w = two_elements(from + column_of_pair(piece, 3), p.v_vectors);
    }
    const int to = swizzled_offset(row, piece, Tile::kKeys * 128);
    *reinterpret_cast<uint4*>(static_cast<char*>(p.k_image) + image * Tile::kKBytes + to) = k;
    if (in_v)
      *reinterpret_cast<uint4*>(static_cast<char*>(p.v_image) + image * Tile::kVBytes + to) = v;
  }
}

}  // namespace nsa::cuda::compressed
