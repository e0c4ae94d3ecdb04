// What a thread of the fused kernel does with the logits of a tile: weights for the product with V,
// and un-normalised scores of its 8 selection blocks.
#pragma once

#include <cstdint>

#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/mma.cuh"

namespace nsa::cuda::compressed {

/// Below any logit, and finite, so that differences are no NaN.
inline constexpr float kNoLogit = -1e30f;

/// How scores are stored in 16 bits: as floats whose upper exponent bits are known to be zero, so
/// that the sign, `kLift` bits in all, can be left out; truncated. Weights are 2^kWeightShift times
/// too small, scores 2^kScoreShift.
template <class T>
struct ScoreFormat;
/// 7 bits of exponent, 9 of mantissa: blocks 2^-118 as likely as the best one still have a score,
/// which decides where few blocks compete (an fp16 would lose what is below 2^-14).
template <>
struct ScoreFormat<__nv_bfloat16> {
  static constexpr int kLift = 2;
  static constexpr float kWeightShift = 8.0f, kScoreShift = 8.0f, kScale = 1.0f;
};
/// 6 bits of exponent, 10 of mantissa, as a comparison in fp16 asks for; its weights cannot be made
/// so small, only the scores.
template <>
struct ScoreFormat<__half> {
  static constexpr int kLift = 3;
  static constexpr float kWeightShift = 0.0f, kScoreShift = 72.0f, kScale = 0x1p-72f;
};
/// Most that the weights of a thread's 32 keys of a tile may sum to, against the reference: above,
/// the reference rises. A block's score stays below 2^9, which the formats hold.
inline constexpr float kMostSum = 256.0f;

/// Two scores as 16 bits each.
template <class T>
__device__ inline std::uint32_t pack_scores(float low, float high) {
  constexpr int kLift = ScoreFormat<T>::kLift;
  return __byte_perm(__float_as_uint(low) << kLift, __float_as_uint(high) << kLift, 0x7632);
}
template <class T>
__device__ inline float low_score(std::uint32_t pair) {
  return __uint_as_float((pair & 0xffffu) << (16 - ScoreFormat<T>::kLift));
}
template <class T>
__device__ inline float high_score(std::uint32_t pair) {
  return __uint_as_float((pair >> 16) << (16 - ScoreFormat<T>::kLift));
}

/// Two rows of the softmax, as one thread sees them: 32 keys in a row of each tile.
struct SoftmaxRows {
  float reference[2] = {kNoLogit, kNoLogit};  // log2, the same in the 4 threads of a row
  float sum[2] = {0.0f, 0.0f};                // of this thread's block scores
  float behind[2] = {0.0f, 0.0f};             // the weight of the key left of this thread's first,
                                              // where that is in the tile before
};

/// Logits of row i, key k of the thread in an accumulator of 128 columns.
__device__ __forceinline__ constexpr int logit_at(int i, int k) {
  return k / 2 * 4 + 2 * i + k % 2;
}

__device__ __forceinline__ void mask_keys(float (&s)[64], int i, int seen) {
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    if (k >= seen) s[logit_at(i, k)] = -INFINITY;
  }
}

/// Raises the references to the tile's row maxs, rounded up as the offsets of weigh() are: no
/// weight is larger than it is to be, however large the logits, or they would be raised for ever.
/// `rescale` is what earlier sums are to be multiplied by.
__device__ __forceinline__ void raise_references(const float (&s)[64], float scale,
                                                 SoftmaxRows& rows, float (&rescale)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float row_max = s[logit_at(i, 0)];
#pragma unroll
    for (int k = 1; k < 32; ++k) row_max = fmaxf(row_max, s[logit_at(i, k)]);
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 1));
    row_max = __fmul_ru(fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 2)), scale);
    const float reference = fmaxf(row_max, rows.reference[i]);
    rescale[i] = exp2_fast(rows.reference[i] - reference);
    rows.reference[i] = reference;
    rows.sum[i] *= rescale[i];
    rows.behind[i] *= rescale[i];
  }
}

/// A thread's part of a tile.
struct TileWeights {
  std::uint32_t operands[8][4];  // weights as A operands of 8 products
  uint4 scores[2];               // of 8 blocks, per row
  float sum[2], behind[2];       // what SoftmaxRows is to grow by, and its next `behind`
};

/// Weights of the tile and the scores of the thread's 8 blocks. With l = 32, d = 16, l' = 64 block
/// j has keys 4 j .. 4 j + 2 whole, 4 j - 1 and 4 j + 3 half (docs/nsa.md 4).
template <class T>
__device__ __forceinline__ void weigh(const float (&s)[64], float scale, const SoftmaxRows& rows,
                                      TileWeights& tile) {
  using Format = ScoreFormat<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float offset = __fadd_ru(rows.reference[i], Format::kWeightShift);
    float score[8], last = 0.0f;
#pragma unroll
    for (int b = 0; b < 8; ++b) {
      float w[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) w[k] = exp2_fast(fmaf(s[logit_at(i, 4 * b + k)], scale, -offset));
      tile.operands[b][i] = pack_pair<T>(w[0], w[1]);
      tile.operands[b][2 + i] = pack_pair<T>(w[2], w[3]);
      score[b] = fmaf(0.5f, w[3] + last, w[0] + w[1] + w[2]);
      last = w[3];
    }
    const float left = __shfl_sync(0xffffffffu, last, (lane & ~3) | ((lane + 3) & 3));
    score[0] = fmaf(0.5f, lane % 4 == 0 ? rows.behind[i] : left, score[0]);
    tile.behind[i] = left;
    tile.sum[i] = ((score[0] + score[1]) + (score[2] + score[3])) +
                  ((score[4] + score[5]) + (score[6] + score[7]));
    if constexpr (Format::kScale != 1.0f) {
#pragma unroll
      for (int b = 0; b < 8; ++b) score[b] *= Format::kScale;
    }
    tile.scores[i] = {pack_scores<T>(score[0], score[1]), pack_scores<T>(score[2], score[3]),
                      pack_scores<T>(score[4], score[5]), pack_scores<T>(score[6], score[7])};
  }
}

/// Whether any thread of the warp has weights so large that its references have to rise.
template <class T>
__device__ __forceinline__ bool too_large(const TileWeights& tile) {
  constexpr float kMost = kMostSum / (ScoreFormat<T>::kWeightShift > 0.0f ? 256.0f : 1.0f);
  static_assert(ScoreFormat<T>::kWeightShift == 0.0f || ScoreFormat<T>::kWeightShift == 8.0f);
  return __any_sync(0xffffffffu, tile.sum[0] > kMost || tile.sum[1] > kMost);
}

/// Sums of the two rows over their threads; half of the very last weight is in no block's score.
__device__ __forceinline__ void finish_sums(SoftmaxRows& rows) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x % 4 == 0) rows.sum[i] = fmaf(0.5f, rows.behind[i], rows.sum[i]);
    rows.sum[i] += __shfl_xor_sync(0xffffffffu, rows.sum[i], 1);
    rows.sum[i] += __shfl_xor_sync(0xffffffffu, rows.sum[i], 2);
  }
}

}  // namespace nsa::cuda::compressed
