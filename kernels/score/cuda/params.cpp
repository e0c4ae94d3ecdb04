#include "score/cuda/params.hpp"

#include <cmath>
#include <numbers>

#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

ScoreParams make_score_params(const LaunchArgs& args, const ScoreTensors& tensors) {
  const auto& [q, k_cmp, blocks] = tensors;
  expects(q.rank == 3 && k_cmp.rank == 3 && blocks.rank == 3, "q, k_cmp and blocks of rank 3");
  expects(q.rows_contiguous() && k_cmp.rows_contiguous(), "dim contiguous");
  const Problem& problem = args.problem;
  const Geometry& g = problem.geometry;
  ScoreParams p;
  p.q = q.data;
  p.q_row_stride = q.stride[0];
  p.q_head_stride = q.stride[1];
  p.k = k_cmp.data;
  p.k_row_stride = k_cmp.stride[0];
  p.k_head_stride = k_cmp.stride[1];
  p.blocks = blocks.as<std::int32_t>();
  p.blocks_row_stride = blocks.stride[0];
  p.blocks_head_stride = blocks.stride[1];
  p.blocks_id_stride = blocks.stride[2];
  if (args.saved && args.saved->blocks) {
    const TensorView& saved = args.saved->blocks;
    p.saved = saved.as<std::int32_t>();
    p.saved_row_stride = saved.stride[0];
    p.saved_head_stride = saved.stride[1];
    p.saved_id_stride = saved.stride[2];
  }
  p.sequences = args.device_sequences;
  p.batch = problem.batch();
  p.kv_heads = static_cast<int>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.cmp_block = static_cast<int>(g.cmp_block);
  p.cmp_stride = static_cast<int>(g.cmp_stride);
  p.sel_block = static_cast<int>(g.sel_block);
  p.sel_count = static_cast<int>(g.sel_count);
  p.scale_log2 =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(problem.head_dim_k)));
  return p;
}

}  // namespace nsa::cuda
