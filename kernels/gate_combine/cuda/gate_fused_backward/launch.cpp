// The backward pass of gate_combine: from the arguments of a launch to the kernels.
#include <algorithm>

#include "cuda/backward/gradient_tensor.hpp"
#include "cuda/flash/head_tensor.hpp"
#include "gate_combine/cuda/gate_fused_backward/params.hpp"
#include "operands/model_backward.hpp"

namespace nsa::gate_combine {
namespace {

cuda::HeadTensor<const void> head_tensor(const TensorView& view) {
  if (!view) return {};
  return cuda::head_tensor<const void>(view, cuda::rows_are_vectors(view));
}
WeightGradient weight_gradient(const TensorView& view, bool accumulate) {
  if (!view) return {};
  return {.data = view.data,
          .row_stride = view.stride[0],
          .columns = view.rank == 2 ? static_cast<int>(view.shape[1]) : 1,
          .fp32 = view.dtype == Dtype::fp32,
          .accumulate = accumulate};
}

/// Pieces are 16 bytes of the storage type; a gradient in fp32 takes more for one. d_o, the
/// branches and their gradients have one offset for all.
bool moves_in_vectors(const GateBackwardTensors& t) {
  bool all = cuda::rows_are_vectors(t.q) && (!t.d_q || cuda::rows_are_vectors(t.d_q));
  const auto flat = [&](const TensorView& view) {
    all = all && (!view || (view.contiguous() && cuda::rows_are_vectors(view)));
  };
  flat(t.d_o);
  for (std::size_t b = 0; b < 3; ++b) flat(t.branches[b]), flat(t.d_branches[b]);
  return all;
}

void set_sizes(GateBackwardParams& p, const LaunchArgs& args) {
  const Problem& problem = args.problem;
  p.rows = problem.total_tokens() * problem.kv_heads;
  p.kv_heads = static_cast<int>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.dv = static_cast<int>(problem.head_dim_v);
  p.inverse_tau = static_cast<float>(1.0 / std::max(args.options.gate_tau, 1e-6));
  p.force_branch = forced_index(args.options);
  p.branches = args.options.branches;
  p.uniform = args.options.uniform_gate;
}

void set_weights(GateBackwardParams& p, const GateWeights& w, const GateWeights& d_w,
                 const LaunchArgs& args) {
  p.mlp = cuda::gate_mlp(w);
  p.hidden = static_cast<int>(w.fc1_w.shape[0]);
  p.d_weights[0] = weight_gradient(d_w.fc1_w, args.adds_to(GateBackwardTensors::kDFc1W));
  p.d_weights[1] = weight_gradient(d_w.fc1_b, args.adds_to(GateBackwardTensors::kDFc1B));
  p.d_weights[2] = weight_gradient(d_w.fc2_w, args.adds_to(GateBackwardTensors::kDFc2W));
  p.d_weights[3] = weight_gradient(d_w.fc2_b, args.adds_to(GateBackwardTensors::kDFc2B));
}

RowStats row_stats(const LaunchArgs& args, Branch branch) {
  const TensorView to = args.row_stats_of(branch), lse = args.lse_of(branch);
  if (!to) return {};
  expects(to.contiguous() && lse, "row statistics without gaps, of a launch that saved");
  return {to.as<float>(), lse.as<float>(), lse.stride[0], lse.stride[1]};
}

/// log2 of the lanes with 16 bytes each that hold a head, where half a warp holds one or two and
/// has a lane for each head of a group; 0: it does not.
int head_shift(const Problem& p) {
  if (p.heads_per_group() > 16) return 0;
  const std::int64_t bytes = p.head_dim_v * static_cast<std::int64_t>(size_of(p.dtype));
  return bytes == 8 * 16 ? 3 : bytes == 16 * 16 ? 4 : 0;
}

void launch(const LaunchArgs& args) {
  const GateBackwardTensors t = GateBackwardTensors::of(args);
  GateBackwardParams p;
  set_sizes(p, args);
  set_weights(p, t.weights, t.d_weights, args);
  p.q = head_tensor(t.q);
  p.d_o = head_tensor(t.d_o);
  p.d_q = cuda::gradient_tensor(t.d_q, args.adds_to(GateBackwardTensors::kDQ));
  for (std::size_t b = 0; b < 3; ++b) {
    p.branch[b] = head_tensor(t.branches[b]);
    p.d_branch[b] =
        cuda::gradient_tensor(t.d_branches[b], args.adds_to(GateBackwardTensors::kDBranches[b]));
    p.row_stats[b] = row_stats(args, kBranchOrder[b]);
  }
  const bool vectors = moves_in_vectors(t);
  if (vectors && args.problem.dtype != Dtype::fp32) p.head_shift = head_shift(args.problem);
  const WorkspaceScope scope(args.workspace);
  p.sums =
      args.workspace.take<float>(kBackwardBlocks * gate_gradient_numbers(p.dk, p.hidden)).data();
  gate_backward(p, args.problem.dtype, vectors, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaGateFusedBackward = launch;

}  // namespace nsa::gate_combine
