// A block's keys of one branch (docs/nsa.md 7): logits, weights and the sum of weighted values, for
// all heads of the group. Eight lanes share a row of K or V, so a warp has four rows under way at a
// time, and each row is read once for eight heads.
#pragma once

#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/vectors.cuh"
#include "decode/cuda/step/shared.cuh"

namespace nsa::cuda::step {

/// kVector numbers of a row from `column` on, zeros past `dim` and where `row` is null.
template <class T, bool kVectors>
struct Piece {
  static constexpr int kWords = kVector * static_cast<int>(sizeof(T)) / 16;
  uint4 words[kWords];
  __device__ void load(const T* row, int column, int dim) {
    if constexpr (kVectors) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        words[i] = row && column < dim ? reinterpret_cast<const uint4*>(row + column)[i] : uint4{};
      }
    } else {
      T* numbers = reinterpret_cast<T*>(words);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        numbers[i] = row && column + i < dim ? row[column + i] : T(0.0f);
      }
    }
  }
  __device__ void unpack(float (&to)[kVector]) const {
    const T* numbers = reinterpret_cast<const T*>(words);
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[i] = to_float(numbers[i]);
  }
};

/// Sums each of eight numbers over the eight lanes of a row; lane i keeps the i-th sum.
__device__ inline float sum_over_row(float (&x)[kHeads], int lane) {
#pragma unroll
  for (int width = kHeads / 2; width > 0; width /= 2) {
    const bool upper = (lane & width) != 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float sent = upper ? x[i] : x[i + width];
      const float kept = upper ? x[i + width] : x[i];
      x[i] = kept + __shfl_xor_sync(kWholeWarp, sent, width);
    }
  }
  return x[0];
}

/// Where a block's keys of a branch are: rows one after another, or those of selected blocks.
struct KeyRows {
  std::int64_t first;  // row of key 0, or of the sequence's
  /// Null: one after another. This thread block's are `ranks` apart, -1: none.
  const std::int32_t* blocks = nullptr;
  int ranks = 0, sel_block = 1;
  unsigned reciprocal = 0;  // 2^32 / sel_block, rounded up: exact for i below 2^16
  std::int64_t kv_len = 0;
  /// Row of key i; negative where there is none.
  __device__ std::int64_t operator()(int i) const {
    if (!blocks) return first + i;
    const auto in_list = static_cast<int>(__umulhi(static_cast<unsigned>(i), reciprocal));
    const int block = blocks[in_list * ranks];
    const std::int64_t key = std::int64_t{block} * sel_block + (i - in_list * sel_block);
    return block >= 0 && key < kv_len ? first + key : -1;
  }
};

/// Rows of K at a time per lane group: loads that are under way together.
inline constexpr int kDeep = 4;

/// logits[head, i] = q[head] . k[row(i)], i < count; -inf where row(i) is negative.
template <class T, bool kVectors>
__device__ void make_logits(const Params& p, const Shared& s, const HeadTensor<const void>& k,
                            int kv_head, int count, const KeyRows& row_of, float* logits,
                            int stride) {
  const int lane = static_cast<int>(threadIdx.x) % kLanesOfRow;
  const int slot = static_cast<int>(threadIdx.x) / kLanesOfRow;
  const T* keys = static_cast<const T*>(k.data) + kv_head * k.head_stride;
  for (int begin = 0; begin < count; begin += kDeep * kRowsAtOnce) {
    const T* rows[kDeep];
#pragma unroll
    for (int u = 0; u < kDeep; ++u) {
      const int i = begin + u * kRowsAtOnce + slot;
      const std::int64_t row = i < count ? row_of(i) : -1;
      rows[u] = row >= 0 ? keys + row * k.row_stride : nullptr;
    }
    for (int head = 0; head < p.group; head += kHeads) {
      float sums[kDeep][kHeads] = {};
      for (int column = lane * kVector; column < p.layout.padded_dk; column += kColumns) {
        Piece<T, kVectors> pieces[kDeep];
#pragma unroll
        for (int u = 0; u < kDeep; ++u) {
          if (begin + u * kRowsAtOnce < count) pieces[u].load(rows[u], column, p.dk);
        }
#pragma unroll
        for (int u = 0; u < kDeep; ++u) {
          if (begin + u * kRowsAtOnce >= count) continue;  // the same for all
          float numbers[kVector];
          pieces[u].unpack(numbers);
#pragma unroll
          for (int h = 0; h < kHeads; ++h) {
            if (head + h >= p.group) continue;
            const float* q = s.q + (head + h) * p.layout.padded_dk + column;
            const float4 low = *reinterpret_cast<const float4*>(q);
            const float4 high = *reinterpret_cast<const float4*>(q + 4);
            float sum = sums[u][h];
            sum = fmaf(numbers[0], low.x, sum);
            sum = fmaf(numbers[1], low.y, sum);
            sum = fmaf(numbers[2], low.z, sum);
            sum = fmaf(numbers[3], low.w, sum);
            sum = fmaf(numbers[4], high.x, sum);
            sum = fmaf(numbers[5], high.y, sum);
            sum = fmaf(numbers[6], high.z, sum);
            sums[u][h] = fmaf(numbers[7], high.w, sum);
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kDeep; ++u) {
        const int i = begin + u * kRowsAtOnce + slot;
        if (begin + u * kRowsAtOnce >= count) continue;
        const float sum = sum_over_row(sums[u], lane);
        if (i < count && head + lane < p.group)
          logits[(head + lane) * stride + i] = rows[u] ? sum : -INFINITY;
      }
    }
  }
}

/// m, l of the branch and weights = 2^(logit - m): a warp per head.
__device__ inline void make_weights(const Params& p, const Shared& s, Branch branch, int count,
                                    const float* logits, int stride) {
  const int lane = lane_of_warp();
#pragma unroll 1
  for (int head = static_cast<int>(threadIdx.x) / 32; head < p.group; head += kWarps) {
    const float* row = logits + head * stride;
    float row_max = -INFINITY, sum = 0;
#pragma unroll 2
    for (int i = lane; i < count; i += 32) row_max = fmaxf(row_max, row[i]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      row_max = fmaxf(row_max, __shfl_xor_sync(kWholeWarp, row_max, step));
    const float base = row_max == -INFINITY ? 0.0f : row_max;  // no key: weights of 0
#pragma unroll 2
    for (int i = lane; i < count; i += 32) {
      const float weight = exp2_fast(row[i] - base);
      s.weights[head * p.layout.keys + i] = weight;
      sum += weight;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, step);
    // A tile may reach beyond the last key.
    for (int i = count + lane; i < (count + 15) / 16 * 16; i += 32)
      s.weights[head * p.layout.keys + i] = 0;
    if (lane > 0) continue;
    s.m[branch * p.group + head] = row_max;
    s.l[branch * p.group + head] = sum;
  }
}

/// Sums over the four rows of a warp that lie 8 lanes apart; each of them keeps two heads.
__device__ inline void sum_over_warp(float (&x)[kHeads][kVector], int slot) {
#pragma unroll
  for (int width = 2; width > 0; width /= 2) {
    const bool upper = (slot & width) != 0;
    const int kept = 2 * width;  // heads
#pragma unroll
    for (int h = 0; h < kHeads / 2; ++h) {
      if (h >= kept) continue;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const float sent = upper ? x[h][j] : x[h + kept][j];
        const float own = upper ? x[h + kept][j] : x[h][j];
        x[h][j] = own + __shfl_xor_sync(kWholeWarp, sent, width * kLanesOfRow);
      }
    }
  }
}

/// o of the heads [head, head + heads) and of the columns from `first` on: what the warps have of
/// them in s.partial [kWarps, heads, kColumns], added up. All threads; a barrier before and after.
__device__ __forceinline__ void add_up_warps(const Params& p, const Shared& s, Branch branch,
                                             int head, int heads, int first) {
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < heads * kColumns; e += kThreads) {
    const int h = head + e / kColumns, c = first + e % kColumns;
    if (h >= p.group || c >= p.dv) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += s.partial[w * heads * kColumns + e];
    s.o[(branch * p.group + h) * p.dv + c] = sum;
  }
  __syncthreads();
}

/// o[branch, head] = sum of weights x v[row(i)]. All threads; ends with a barrier.
template <class T, bool kVectors>
__device__ void sum_values(const Params& p, const Shared& s, const HeadTensor<const void>& v,
                           int kv_head, Branch branch, int count, const KeyRows& row_of) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanesOfRow;
  const int slot = thread / kLanesOfRow, warp = thread / 32;
  const T* values = static_cast<const T*>(v.data) + kv_head * v.head_stride;
  for (int first = 0; first < p.dv; first += kColumns) {
    const int column = first + lane * kVector;
    for (int head = 0; head < p.group; head += kHeads) {
      float sums[kHeads][kVector] = {};
#pragma unroll 2
      for (int i = slot; i < count; i += kRowsAtOnce) {
        const std::int64_t row = row_of(i);
        Piece<T, kVectors> piece;
        piece.load(row >= 0 ? values + row * v.row_stride : nullptr, column, p.dv);
        float numbers[kVector];
        piece.unpack(numbers);
#pragma unroll
        for (int h = 0; h < kHeads; ++h) {
          if (head + h >= p.group) continue;
          const float weight = s.weights[(head + h) * p.layout.keys + i];
#pragma unroll
          for (int j = 0; j < kVector; ++j) sums[h][j] = fmaf(weight, numbers[j], sums[h][j]);
        }
      }
      sum_over_warp(sums, slot % 4);
      // Of the four rows, bit 1 kept the upper four heads and bit 0 the upper two of those.
      const int kept = (slot & 2 ? 4 : 0) + (slot & 1 ? 2 : 0);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < kVector; ++j)
          s.partial[(warp * kHeads + kept + h) * kColumns + lane * kVector + j] = sums[h][j];
      }
      add_up_warps(p, s, branch, head, kHeads, first);
    }
  }
}

}  // namespace nsa::cuda::step
