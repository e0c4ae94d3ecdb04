// What the backward kernels of attention get: plain pointers, strides in elements, sizes.
#pragma once

#include <cstdint>

#include "cuda/flash/attend_params.hpp"
#include "operands/attend_backward.hpp"

namespace nsa::cuda {

/// A gradient [rows, heads, dim] that a launch writes; data may be null: nobody wants it.
struct GradientTensor {
  void* data = nullptr;
  std::int64_t row_stride = 0, head_stride = 0;
  bool fp32 = false;        // else the storage type of the launch
  bool accumulate = false;  // it is added to what is there
  bool vectors = false;     // every row starts at a multiple of 16 bytes
};

/// Which keys the query at position t sees: [begin, end) with end = (t + 1 - block) / stride + 1,
/// none before t = block - 1, and begin = t - window + 1. The window has block and stride 1, the
/// compressed keys a window without end.
struct KeyBand {
  int window = 0x7fffffff, block = 1, stride = 1;
};

/// Of one launch; tensors are on the device.
struct BackwardParams {
  AttendParams attend;           // its o is what the forward pass wrote
  HeadTensor<const void> d_o;    // [tokens, q_heads, dv]
  float* stats = nullptr;        // [tokens, q_heads, 2]: log-sum-exp in log2 units, infinite for a
                                 // row without keys; and the sum of d_o o
  bool stats_given = false;      // the gate's backward pass made them (Saved::row_stats)
  GradientTensor d_q, d_k, d_v;  // [tokens, q_heads, dk], [rows, kv_heads, dk or dv]
  KeyBand band;
  float scale = 0;  // 1 / sqrt(dk)
};

/// From the tensors of a backward launch; the band is left to the stage. `attend` is what the
/// forward pass of the stage gets. Takes the memory of `stats` from the launch's workspace, unless
/// they are given.
BackwardParams make_backward_params(const LaunchArgs& args, const BandBackwardTensors& tensors,
                                    const AttendParams& attend);
/// The same of the selected branch.
BackwardParams make_backward_params(const LaunchArgs& args, const SelectedBackwardTensors& tensors);

/// Bytes of `stats`, the alignment included.
std::int64_t stats_bytes(const Problem& problem);

/// Fills `stats` from o, d_o and the log-sum-exp of the forward pass, where they were not given.
void make_row_stats(const BackwardParams& p, Dtype dtype, CUstream_st* stream);

}  // namespace nsa::cuda
