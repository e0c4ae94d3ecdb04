// What the score kernels get: plain pointers, strides in elements, sizes.
#pragma once

#include <cstdint>

#include "operands/select.hpp"

namespace nsa::cuda {

/// Of one launch; tensors are on the device.
struct ScoreParams {
  const void* q = nullptr;  // [tokens, q_heads, dk]
  std::int64_t q_row_stride = 0, q_head_stride = 0;
  const void* k = nullptr;  // [compressed_tokens, kv_heads, dk]
  std::int64_t k_row_stride = 0, k_head_stride = 0;
  std::int32_t* blocks = nullptr;  // [tokens, kv_heads, sel_count]
  std::int64_t blocks_row_stride = 0, blocks_head_stride = 0, blocks_id_stride = 0;
  std::int32_t* saved = nullptr;  // the same shape; null = not wanted
  std::int64_t saved_row_stride = 0, saved_head_stride = 0, saved_id_stride = 0;
  const Sequence* sequences = nullptr;  // [batch], on the device
  std::int64_t batch = 0;
  int kv_heads = 0, group = 0, dk = 0;
  int cmp_block = 0, cmp_stride = 0, sel_block = 0, sel_count = 0;
  float scale_log2 = 0;  // log2(e) / sqrt(dk): logits in units in which exp2 is the weight
};

ScoreParams make_score_params(const LaunchArgs& args, const ScoreTensors& tensors);

}  // namespace nsa::cuda
