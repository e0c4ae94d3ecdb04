// Gradients of the gate's weights: a block adds up those of its rows, each number in one thread.
#pragma once

#include "gate_combine/cuda/gate_fused_backward/tile.cuh"

namespace nsa::gate_combine {

/// The tile's part of number i after fc1_w: of fc1_b, fc2_w or fc2_b.
template <int kDk>
__device__ float small_weight_part(const Tile<kDk>& tile, int i) {
  const int hidden = tile.hidden();
  float sum = 0;
  if (i < hidden) {
    for (int r = 0; r < kRows; ++r) sum += tile.d_before[r * hidden + i];
    return sum;
  }
  const int branch = i < 4 * hidden ? i / hidden - 1 : i - 4 * hidden, unit = i % hidden;
  for (int r = 0; r < kRows; ++r) {
    const float d_z = reinterpret_cast<const float*>(tile.d_z + r)[branch];
    sum = i < 4 * hidden ? fmaf(d_z, tile.act[r * hidden + unit], sum) : sum + d_z;
  }
  return sum;
}

/// Sums in registers: a thread has a column of fc1_w, in kUnits units after one another.
template <int kDk>
class WeightSums {
  static constexpr int kHidden = kDk / 2, kUnits = kHidden * kDk / kThreads;
  static constexpr int kSmall = 4 * kHidden + 3, kSmallEach = (kSmall + kThreads - 1) / kThreads;

 public:
  __device__ explicit WeightSums(float* to) : to_(to) {}

  __device__ void add(const Tile<kDk>& tile) {
    const int column = static_cast<int>(threadIdx.x) % kDk;
    const int unit = static_cast<int>(threadIdx.x) / kDk * kUnits;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float mean = tile.mean[r * kDk + column];
#pragma unroll
      for (int i = 0; i < kUnits; i += 4) {
        float d_before[4];
        cuda::load_vector(tile.d_before + r * kHidden + unit + i, d_before);
#pragma unroll
        for (int j = 0; j < 4; ++j) units_[i + j] = fmaf(d_before[j], mean, units_[i + j]);
      }
    }
#pragma unroll
    for (int i = 0; i < kSmallEach; ++i) {
      const int number = static_cast<int>(threadIdx.x) + i * kThreads;
      if (number < kSmall) small_[i] += small_weight_part(tile, number);
    }
  }

  __device__ void write() const {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      const int unit = static_cast<int>(threadIdx.x) / kDk * kUnits + i;
      to_[unit * kDk + static_cast<int>(threadIdx.x) % kDk] = units_[i];
    }
#pragma unroll
    for (int i = 0; i < kSmallEach; ++i) {
      const int number = static_cast<int>(threadIdx.x) + i * kThreads;
      if (number < kSmall) to_[kHidden * kDk + number] = small_[i];
    }
  }

 private:
  float* to_;
  float units_[kUnits] = {}, small_[kSmallEach] = {};
};

/// Of any size: sums in the block's copy in memory.
template <>
class WeightSums<0> {
 public:
  __device__ explicit WeightSums(float* to) : to_(to) {}

  __device__ void add(const Tile<0>& tile) {
    const int dk = tile.dk(), hidden = tile.hidden(), after = hidden * dk;
    for_each(after, [&](int i) {
      const int unit = i / dk, column = i - unit * dk;
      float sum = begin_ ? 0 : to_[i];
      for (int r = 0; r < kRows; ++r)
        sum = fmaf(tile.d_before[r * hidden + unit], tile.mean[r * dk + column], sum);
      to_[i] = sum;
    });
    for_each(4 * hidden + 3, [&](int i) {
      const float sum = begin_ ? 0 : to_[after + i];
      to_[after + i] = sum + small_weight_part(tile, i);
    });
    begin_ = false;
  }
  __device__ void write() const {}

 private:
  float* to_;
  bool begin_ = true;
};

}  // namespace nsa::gate_combine
