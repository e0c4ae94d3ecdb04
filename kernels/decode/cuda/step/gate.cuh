// Gate of a decode step (docs/nsa.md 8), and the end of it: the branches of all blocks of the
// cluster put together.
#pragma once

#include "decode/cuda/step/select.cuh"

namespace nsa::cuda::step {

/// softmax of three logits, by the overrides, into s.gates. One thread.
__device__ inline void softmax_gates(const Params& p, const Shared& s, const float (&z)[3]) {
  const float largest = fmaxf(z[0], fmaxf(z[1], z[2]));
  float sum = 0;
  for (int b = 0; b < 3; ++b) sum += s.gates[b] = expf(z[b] - largest);
  for (int b = 0; b < 3; ++b) s.gates[b] /= sum;
  if (p.force_branch < 0) return;
  for (int b = 0; b < 3; ++b) s.gates[b] = b == p.force_branch ? 1.0f : 0.0f;
}

/// Units of the hidden layer from the mean query in s.hidden: eight lanes share a row of fc1.
template <class T, bool kVectors>
__device__ void make_hidden(const Params& p, const Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kLanesOfRow;
  const int slot = static_cast<int>(threadIdx.x) / kLanesOfRow;
#pragma unroll 1
  for (int first = 0; first < p.layout.hidden; first += kRowsAtOnce) {
    const int unit = first + slot;
    const bool there = unit < p.layout.hidden;
    const T* row = there ? static_cast<const T*>(p.mlp.fc1_w) + unit * p.mlp.fc1_w_stride : nullptr;
    float sum = 0;
#pragma unroll 1
    for (int column = lane * kVector; column < p.layout.padded_dk; column += kColumns) {
      Piece<T, kVectors> piece;
      piece.load(row, column, p.dk);
      float numbers[kVector];
      piece.unpack(numbers);
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum = fmaf(numbers[j], s.hidden[column + j], sum);
    }
#pragma unroll
    for (int step = kLanesOfRow / 2; step > 0; step /= 2)
      sum += __shfl_xor_sync(kWholeWarp, sum, step);
    if (lane > 0 || !there) continue;
    const float x = sum + to_float(static_cast<const T*>(p.mlp.fc1_b)[unit * p.mlp.fc1_b_stride]);
    s.hidden[p.layout.padded_dk + unit] = x / (1.0f + __expf(-x));
  }
}

/// Weights of (cmp, sel, win) into s.gates. All threads; the caller's barrier comes before they are
/// read.
template <class T, bool kVectors>
__device__ void make_gates(const Params& p, const Shared& s) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int c = thread; c < p.layout.padded_dk; c += kThreads) {
    float sum = 0;
#pragma unroll 1
    for (int head = 0; head < p.group; ++head) sum += s.q[head * p.layout.padded_dk + c];
    s.hidden[c] = sum / (static_cast<float>(p.group) * p.scale_log2);  // q holds the scale
  }
  __syncthreads();
  make_hidden<T, kVectors>(p, s);
  __syncthreads();
  if (thread >= 32) return;
  float z[3] = {};
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (p.uniform) continue;
    float sum = 0;
#pragma unroll 1
    for (int unit = thread; unit < p.layout.hidden; unit += 32) {
      sum += to_float(static_cast<const T*>(p.mlp.fc2_w)[b * p.mlp.fc2_w_stride + unit]) *
             s.hidden[p.layout.padded_dk + unit];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, step);
    z[b] = (sum + to_float(static_cast<const T*>(p.mlp.fc2_b)[b * p.mlp.fc2_b_stride])) *
           p.inverse_tau;
  }
  if (thread == 0) softmax_gates(p, s, z);
}

/// Columns of o, a slice for each block of the cluster: what all blocks have of a branch times what
/// it counts, then the gates. What stands in a branch of gate 0 counts for nothing, NaN included.
template <class T>
__device__ void store_slice(const Params& p, Shared& s, int rank, std::int64_t token, int kv_head) {
  const cg::cluster_group cluster = cg::this_cluster();
  const int all = p.group * p.dv, each = (all + p.ranks - 1) / p.ranks;
  const int first = rank * each, count = min(each, all - first);
  float* sums = s.partial;  // [3, each]
  for (int i = static_cast<int>(threadIdx.x); i < 3 * count; i += kThreads) {
    const int branch = i / count, e = first + i % count;
    const float* factors = s.factors + (branch * p.group + e / p.dv) * kMostRanks;
    float sum = 0;
#pragma unroll 8
    for (int r = 0; r < p.ranks; ++r) {
      const float o = *cluster.map_shared_rank(s.o + branch * all + e, r);
      if (factors[r] != 0.0f) sum += factors[r] * o;
    }
    sums[branch * each + i % count] = sum;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    const int head = (first + i) / p.dv, column = (first + i) % p.dv;
    float sum = 0;
    for (int b = 0; b < 3; ++b) {  // branches are in the order of the gates
      if (s.gates[b] != 0.0f) sum += s.gates[b] * sums[b * each + i];
    }
    T* o = head_row<T>(p.o, token, kv_head * p.group + head);
    o[column] = from_float<T>(sum);
  }
}

}  // namespace nsa::cuda::step
