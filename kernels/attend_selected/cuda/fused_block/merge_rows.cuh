// Rows of `fused_block` on their way to the output: an online softmax over their near blocks, and
// the partial results of the blocks that they picked.
#pragma once

#include "attend_selected/cuda/fused_block/near.cuh"
#include "attend_selected/cuda/fused_block/tile.cuh"

namespace nsa::cuda {

/// A thread's two rows of the tile.
template <class Sizes>
struct MergeRows {
  using T = typename Sizes::Storage;
  static constexpr int kDv = Sizes::kDv;
  std::int64_t token[2];     // packed; negative: none
  int query[2], head[2];     // of the chunk, of the group
  int position[2], near[2];  // of the query; see kNearShift
  float reference[2], l[2];  // log2 units; sum of weights
  float o[kDv / 2];
  static constexpr int kSums = static_cast<int>(kMaxBlockPicks) / 4;
  static constexpr int kAtOnce = kDv > 64 ? 1 : 2, kPieces = kDv / 32;
  int picks[2], first[2];  // how many, and the row of the first one's partial result
  float weight[2][kSums];  // log-sum-exps, then weights, of picks 4 j + lane % 4

  __device__ MergeRows(const BlockParams& p, const BlockShared<Sizes>& shared,
                       const BlockWork& work, int first_query, int count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int at = shared.rows[block_row(i)], q = at >> 8;
      query[i] = first_query + q;
      head[i] = at & 0xff;
      const bool exists = q < count;
      token[i] = exists ? work.first_token + query[i] : -1;
      position[i] = near[i] = 0;
      if (exists) {
        position[i] = position_of_token(
            sequence_of_token(p.attend.sequences, p.attend.batch, token[i]), token[i]);
        near[i] = p.near[std::int64_t{work.stage} * p.chunk + query[i]];
      }
      reference[i] = -INFINITY;
      l[i] = 0.0f;
    }
#pragma unroll
    for (int j = 0; j < kDv / 2; ++j) o[j] = 0.0f;
  }

  /// Keys of the block that row i sees.
  __device__ int visible(int i, const NearWalk& walk) const {
    if (token[i] < walk.token || token[i] >= walk.end) return 0;
    const int own = position[i] / Sizes::kKeys, block = walk.block;
    const int wanted = block == own            ? kChoseOwn
                       : block == own - 1      ? kChoseBefore
                       : block == 0 && own > 1 ? kChoseFirst
                                               : 0;
    if (!(near[i] & wanted)) return 0;
    return min(position[i] - block * Sizes::kKeys + 1, Sizes::kKeys);
  }

  /// Adds a block of keys by an online softmax.
  __device__ void add(std::uint32_t q, std::uint32_t k, const int (&keys)[2], float scale) {
    float s[32];
    block_logits<Sizes>(q, k, s);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (keys[i] < Sizes::kKeys) mask(s, i, keys[i]);
      const float row_max = fmaxf(reference[i], block_row_max(s, i) * scale);
      const float rescale = row_max == -INFINITY ? 1.0f : exp2_fast(reference[i] - row_max);
      reference[i] = row_max;
      l[i] = l[i] * rescale + block_weigh(s, i, scale, row_max == -INFINITY ? 0.0f : row_max);
      rescale_row(i, rescale);
    }
    block_values<Sizes>(k + Sizes::kKBytes, s, o);
  }
  __device__ void rescale_row(int i, float factor) {
#pragma unroll
    for (int n = 0; n < kDv / 8; ++n) {
      o[4 * n + 2 * i] *= factor;
      o[4 * n + 2 * i + 1] *= factor;
    }
  }

  /// Log-sum-exps of the picks' partial results: every fourth pick of each row. What else is read
  /// of them has often left the L2: rows of few bytes are asked for here, in front of the work on
  /// near blocks.
  __device__ void read_sums(const BlockParams& p, int stage) {
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      picks[i] = near[i] >> kNearShift;
      first[i] = p.partial_row(stage, query[i], 0, head[i]);
#pragma unroll
      for (int j = 0; j < kSums; ++j) {
        const int slot = 4 * j + t, row = first[i] + slot * p.attend.group;
        weight[i][j] = -INFINITY;
        if (slot >= picks[i]) continue;
        weight[i][j] = __ldcg(p.partial_lse + row);
        if (kDv <= 64)
          asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const T*>(p.partial_o) +
                                                        std::int64_t{row} * kDv));
      }
    }
  }

  /// After the near blocks: adds the partial results of the picks, in their order.
  __device__ void merge(const BlockParams& p) {
#pragma unroll
    for (int i = 0; i < 2; ++i) weigh_picks(i);
    const int most = __reduce_max_sync(0xffffffffu, max(picks[0], picks[1]));
    // One piece of code for all: unrolled, it would fill the caches of instructions.
#pragma unroll 1
    for (int j = 0; 4 * j < most; ++j) {
#pragma unroll
      for (int u = 0; u < 4; u += kAtOnce) add_partials(p, j, u);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int k = 1; k < kSums; ++k) weight[i][k - 1] = weight[i][k];
    }
  }

  /// Weighted rows leave by way of shared memory, in pieces of 16 bytes.
  __device__ void write(const BlockParams& p, const BlockShared<Sizes>& shared, int kv_head) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float inverse = l[i] == 0.0f ? 0.0f : __fdividef(1.0f, l[i]);
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
        unsigned char* to =
            shared.queries + sm90::swizzled(Sizes::kRows, block_row(i), n) + 4 * (lane % 4);
        *reinterpret_cast<std::uint32_t*>(to) =
            pack_pair<T>(o[4 * n + 2 * i] * inverse, o[4 * n + 2 * i + 1] * inverse);
      }
      if (p.attend.lse && lane % 4 == 0 && token[i] >= 0)
        p.attend.lse[token[i] * p.attend.lse_row_stride +
                     (kv_head * p.attend.group + head[i]) * p.attend.lse_head_stride] =
            l[i] == 0.0f ? -INFINITY : (reference[i] + log2_fast(l[i])) * kLn2;
    }
  }

 private:
  __device__ static void mask(float (&s)[32], int i, int keys) {
    const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (8 * n + 2 * t + e >= keys) s[4 * n + 2 * i + e] = -INFINITY;
  }
  /// Log-sum-exps of row i to weights against its largest; what was summed so far follows.
  __device__ void weigh_picks(int i) {
    float row_max = reference[i];
#pragma unroll
    for (int j = 0; j < kSums; ++j) row_max = fmaxf(row_max, weight[i][j]);
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 1));
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 2));
    const float base = row_max == -INFINITY ? 0.0f : row_max;
    const float rescale = exp2_fast(reference[i] - base);
    reference[i] = row_max;
    l[i] *= rescale;
    rescale_row(i, rescale);
#pragma unroll
    for (int j = 0; j < kSums; ++j) {
      weight[i][j] = exp2_fast(weight[i][j] - base);
      l[i] += weight[i][j];
    }
    l[i] = sum_of_row(l[i]);
  }

  /// Picks 4 j + u and, where registers hold them, the one after it; the weights of picks 4 j +
  /// lane % 4 stand in front.
  __device__ __forceinline__ void add_partials(const BlockParams& p, int j, int u) {
    const int t = static_cast<int>(threadIdx.x) % 4, lane = static_cast<int>(threadIdx.x) % 32;
    const auto* partial = static_cast<const uint4*>(p.partial_o) + t;
    uint4 words[kAtOnce][2][kPieces];
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int slot = 4 * j + u + a;
        const uint4* from = partial + std::int64_t{first[i] + slot * p.attend.group} * (kDv / 8);
#pragma unroll
        for (int h = 0; h < kPieces; ++h)
          words[a][i][h] = slot < picks[i] ? __ldcs(from + 4 * h) : uint4{0, 0, 0, 0};
      }
#pragma unroll
    for (int a = 0; a < kAtOnce; ++a)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        add_partial(i, __shfl_sync(0xffffffffu, weight[i][0], lane / 4 * 4 + u + a), words[a][i]);
  }
  __device__ void add_partial(int i, float weight, const uint4 (&words)[kDv / 32]) {
#pragma unroll
    for (int h = 0; h < kDv / 32; ++h) {
      const std::uint32_t word[4] = {words[h].x, words[h].y, words[h].z, words[h].w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const auto* pair = reinterpret_cast<const T*>(word + w);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& sum = o[16 * h + 4 * w + 2 * i + e];
          sum = fmaf(weight, to_float(pair[e]), sum);
        }
      }
    }
  }
};

}  // namespace nsa::cuda
