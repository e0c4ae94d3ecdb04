// A block's keys of one branch by tensor cores, where storage is 16 bits wide and rows move in 16
// bytes. Fragments are loaded from device memory as they are used: a product does not mind the
// order of what it sums over, so a lane's 16 bytes of a row of K serve two steps of 16 numbers, and
// its 16 bytes of four rows of V serve eight tiles of columns.
#pragma once

#include "cuda/ptx/mma.cuh"
#include "decode/cuda/step/part.cuh"

namespace nsa::cuda::step {

inline constexpr int kTileKeys = 16;
inline constexpr int kPassKeys = kWarps * kTileKeys;  // a tile for each warp

template <class T>
__device__ uint4 load_piece(const T* base, std::int64_t row, std::int64_t stride, int column,
                            int dim) {
  if (row < 0 || column >= dim) return uint4{};
  return *reinterpret_cast<const uint4*>(base + row * stride + column);
}

/// As make_logits: two tiles of a warp at a time, keys are the rows of a tile, heads its columns.
template <class T>
__device__ void make_logits_by_tiles(const Params& p, const Shared& s,
                                     const HeadTensor<const void>& k, int kv_head, int count,
                                     const KeyRows& row_of, float* logits, int stride) {
  const int lane = lane_of_warp(), g = lane / 4, t = lane % 4;
  const T* keys = static_cast<const T*>(k.data) + kv_head * k.head_stride;
  const T* queries = static_cast<const T*>(s.queries);
  const int query_stride = p.layout.padded_dk + kQueryGap;
  for (int begin = static_cast<int>(threadIdx.x) / 32 * kTileKeys; begin < count;
       begin += 2 * kPassKeys) {
    std::int64_t rows[2][2];  // [tile][upper half]
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = begin + i / 2 * kPassKeys + i % 2 * 8 + g;
      rows[i / 2][i % 2] = key < count ? row_of(key) : -1;
    }
    for (int head = 0; head < p.group; head += kTileHeads) {
      float sums[2][2][4] = {};  // [tile][eight heads]
#pragma unroll 2
      for (int column = 8 * t; column < p.layout.padded_dk; column += 32) {
        uint4 x[2][2];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[i / 2][i % 2] = load_piece(keys, rows[i / 2][i % 2], k.row_stride, column, p.dk);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (head + 8 * half >= p.group) continue;  // the same for all
          const uint4 q = *reinterpret_cast<const uint4*>(
              queries + (head + 8 * half + g) * query_stride + column);
#pragma unroll
          for (int tile = 0; tile < 2; ++tile) {
            const uint4 &low = x[tile][0], &high = x[tile][1];
            const std::uint32_t first[4]{low.x, high.x, low.y, high.y};
            const std::uint32_t second[4]{low.z, high.z, low.w, high.w};
            mma_16x8x16<T>(sums[tile][half], first, q.x, q.y);
            mma_16x8x16<T>(sums[tile][half], second, q.z, q.w);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int tile = i / 8, half = i / 4 % 2, upper = i / 2 % 2;
        const int key = begin + tile * kPassKeys + upper * 8 + g;
        const int of_head = head + half * 8 + 2 * t + i % 2;
        if (key >= count || of_head >= p.group) continue;
        logits[of_head * stride + key] =
            rows[tile][upper] >= 0 ? sums[tile][half][i % 4] * p.scale_log2 : -INFINITY;
      }
    }
  }
}

/// As sum_values: heads are the rows of a tile, columns of V its columns. Weights past `count`
/// are zeros up to the end of a tile.
template <class T>
__device__ void sum_values_by_tiles(const Params& p, const Shared& s,
                                    const HeadTensor<const void>& v, int kv_head, Branch branch,
                                    int count, const KeyRows& row_of) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, g = lane / 4, t = lane % 4;
  const int warp = thread / 32, partial_heads = p.group > 8 ? 16 : 8;
  const T* values = static_cast<const T*>(v.data) + kv_head * v.head_stride;
  for (int first = 0; first < p.dv; first += kColumns) {
    for (int head = 0; head < p.group; head += kTileHeads) {
      float sums[8][4] = {};
#pragma unroll 2
      for (int begin = warp * kTileKeys; begin < count; begin += kPassKeys) {
        uint4 x[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = begin + 4 * t + i;
          x[i] =
              load_piece(values, key < count ? row_of(key) : -1, v.row_stride, first + 8 * g, p.dv);
        }
        std::uint32_t a[4] = {};
#pragma unroll
        for (int upper = 0; upper < 2; ++upper) {
          const int of_head = head + upper * 8 + g;
          if (of_head >= p.group) continue;
          const float4 w =
              *reinterpret_cast<const float4*>(s.weights + of_head * p.layout.keys + begin + 4 * t);
          a[upper] = pack_pair<T>(w.x, w.y);
          a[2 + upper] = pack_pair<T>(w.z, w.w);
        }
        const std::uint32_t words[4][4] = {{x[0].x, x[0].y, x[0].z, x[0].w},
                                           {x[1].x, x[1].y, x[1].z, x[1].w},
                                           {x[2].x, x[2].y, x[2].z, x[2].w},
                                           {x[3].x, x[3].y, x[3].z, x[3].w}};
#pragma unroll
        for (int j = 0; j < 8; ++j) {  // the tile of column j of each eight
          const unsigned pick = j % 2 ? 0x7632u : 0x5410u;
          mma_16x8x16<T>(sums[j], a, __byte_perm(words[0][j / 2], words[1][j / 2], pick),
                         __byte_perm(words[2][j / 2], words[3][j / 2], pick));
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // head g or g + 8; eight columns of tile column 2t or 2t + 1
        const int upper = i / 2;
        if (head + upper * 8 >= p.group) continue;
        float* to =
            s.partial + (warp * partial_heads + upper * 8 + g) * kColumns + 16 * t + i % 2 * 8;
        reinterpret_cast<float4*>(to)[0] =
            make_float4(sums[0][i], sums[1][i], sums[2][i], sums[3][i]);
        reinterpret_cast<float4*>(to)[1] =
            make_float4(sums[4][i], sums[5][i], sums[6][i], sums[7][i]);
      }
      add_up_warps(p, s, branch, head, partial_heads, first);
    }
  }
}

/// The branch's part of this block: `count` keys.
template <class T, bool kVectors>
__device__ void attend_part(const Params& p, const Shared& s, int kv_head, Branch branch, int count,
                            const KeyRows& row_of) {
  constexpr bool kTiles = kVectors && sizeof(T) == 2;
  const HeadTensor<const void> k = p.k[branch], v = p.v[branch];
  float* logits = branch == kCompressed ? s.logits : s.weights;
  const int stride = branch == kCompressed ? p.layout.share : p.layout.keys;
  if constexpr (kTiles) {
    make_logits_by_tiles<T>(p, s, k, kv_head, count, row_of, logits, stride);
  } else {
    make_logits<T, kVectors>(p, s, k, kv_head, count, row_of, logits, stride);
  }
  __syncthreads();
  make_weights(p, s, branch, count, logits, stride);
  __syncthreads();
  if constexpr (kTiles) {
    sum_values_by_tiles<T>(p, s, v, kv_head, branch, count, row_of);
  } else {
    sum_values<T, kVectors>(p, s, v, kv_head, branch, count, row_of);
  }
}

}  // namespace nsa::cuda::step
