// From tensors to the kernel of a decode step.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "cuda/flash/head_tensor.hpp"
#include "cuda/memory/alignment.hpp"
#include "decode/step.hpp"
#include "decode/step_layout.hpp"

namespace nsa::decode {
namespace {

using cuda::step::Params;

/// A tensor of heads; `vectors` stays true while its rows can move in pieces of eight numbers.
template <class T>
cuda::HeadTensor<T> heads_of(const TensorView& view, bool& vectors) {
  if (view.shape[0] > 0) {
    vectors = vectors && cuda::rows_are_vectors(view) && view.shape[2] % cuda::step::kVector == 0;
  }
  return cuda::head_tensor<T>(view);
}

void set_problem(Params& p, const Problem& problem, const AttentionOptions& options) {
  const Geometry& g = problem.geometry;
  p.kv_heads = static_cast<int>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.dv = static_cast<int>(problem.head_dim_v);
  p.ranks = ranks_of(problem);
  p.cmp_block = static_cast<int>(g.cmp_block);
  p.cmp_stride = static_cast<int>(g.cmp_stride);
  p.sel_block = static_cast<int>(g.sel_block);
  p.sel_count = static_cast<int>(g.sel_count);
  p.sel_reciprocal =
      static_cast<unsigned>(((std::int64_t{1} << 32) + g.sel_block - 1) / g.sel_block);
  p.window = static_cast<int>(std::min<std::int64_t>(g.window, 0x7fffffff));
  p.scale_log2 =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(problem.head_dim_k)));
  p.inverse_tau = static_cast<float>(1.0 / std::max(options.gate_tau, 1e-6));
  p.force_branch = forced_index(options);
  p.uniform = options.uniform_gate;
  p.layout = layout_of(problem, p.ranks);
}

void attend_step(const Problem& problem, const AttentionTensors& t, const StepSequences& sequences,
                 const AttentionOptions& options, CUstream_st* stream) {
  expects(options.branches == kAllBranches, "a step with all three branches");
  bool vectors = true;
  Params p{};
  set_problem(p, problem, options);
  expects(p.ranks > 0, "a cluster that holds the problem");
  bool any = true;  // of q and o, which move number by number
  p.q = heads_of<const void>(t.q, any);
  p.o = heads_of<void>(t.o, any);
  const std::array<KvTensors, 3> branches{t.cmp, t.sel, t.win};
  for (std::size_t b = 0; b < branches.size(); ++b) {
    p.k[b] = heads_of<const void>(branches[b].k, vectors);
    p.v[b] = heads_of<const void>(branches[b].v, vectors);
  }
  p.mlp = cuda::gate_mlp(t.gate);
  vectors = vectors && cuda::rows_are_vectors(t.gate.fc1_w);
  if (t.blocks) {
    p.blocks = t.blocks.as<std::int32_t>();
    p.blocks_row_stride = t.blocks.stride[0];
    p.blocks_head_stride = t.blocks.stride[1];
    p.blocks_id_stride = t.blocks.stride[2];
  }
  p.sequences = sequences.selected;
  p.window_sequences = sequences.window;
  const auto launch = problem.dtype == Dtype::bf16   ? cuda::step::launch_bf16
                      : problem.dtype == Dtype::fp16 ? cuda::step::launch_fp16
                                                     : cuda::step::launch_fp32;
  launch(p, static_cast<int>(problem.batch()), vectors, stream);
}

}  // namespace

constinit const AttendFunction kAttendStep = attend_step;

}  // namespace nsa::decode
