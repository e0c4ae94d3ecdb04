// The stage as one kernel and as three.
#include <algorithm>
#include <type_traits>

#include "cuda/alignment.hpp"
#include "gate_combine/cuda_gate.cuh"
#include "gate_combine/cuda_rows.hpp"

namespace nsa::gate_combine {
namespace {

using cuda::GateParams;
using cuda::kGateRows;
using cuda::kGateThreads;

__device__ std::int64_t first_row() { return blockIdx.x * std::int64_t{kGateRows}; }

template <class T, int kWidth>
__global__ void __launch_bounds__(kGateThreads) fused_kernel(GateParams p) {
  const cuda::GateTile tile = cuda::gate_tile(p);
  cuda::fill_means<T, kWidth>(p, first_row(), tile);
  cuda::make_gates<T>(p, first_row(), tile);
  cuda::combine_rows<T, kWidth>(p, first_row(), cuda::gate_rows(p, first_row()), tile.gates);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kGateThreads) means_kernel(GateParams p) {
  const int pieces = p.dk / kWidth;
  const std::int64_t i = blockIdx.x * std::int64_t{kGateThreads} + threadIdx.x, row = i / pieces;
  if (row >= p.rows) return;
  const int column = static_cast<int>(i % pieces) * kWidth;
  float mean[kWidth];
  cuda::mean_query<T, kWidth>(p, row, column, mean);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) p.means[row * p.dk + column + j] = mean[j];
}

template <class T>
__global__ void __launch_bounds__(kGateThreads) gates_kernel(GateParams p) {
  const cuda::GateTile tile = cuda::gate_tile(p);
  const int rows = cuda::gate_rows(p, first_row());
  for (int i = static_cast<int>(threadIdx.x); i < kGateRows * tile.stride; i += kGateThreads) {
    const int r = i / tile.stride, column = i % tile.stride;
    const bool there = r < rows && column < p.dk;
    tile.means[i] = there ? p.means[(first_row() + r) * p.dk + column] : 0.0f;
  }
  cuda::make_gates<T>(p, first_row(), tile);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kGateThreads) combine_kernel(GateParams p) {
  cuda::combine_rows<T, kWidth>(p, first_row(), cuda::gate_rows(p, first_row()),
                                p.weights + first_row() * 3);
}

template <class T>
cuda::HeadTensor<T> head_tensor(const TensorView& view) {
  if (!view) return {};
  expects(view.rank == 3 && view.rows_contiguous(), "a tensor [rows, heads, dim]");
  return {view.data, view.stride[0], view.stride[1], cuda::rows_are_vectors(view)};
}

void set_weights(GateParams& p, const LaunchArgs& args) {
  const TensorView &w1 = args.in[4], &b1 = args.in[5], &w2 = args.in[6], &b2 = args.in[7];
  p.fc1_w = w1.data;
  p.fc1_b = b1.data;
  p.fc2_w = w2.data;
  p.fc2_b = b2.data;
  p.fc1_w_stride = w1.stride[0];
  p.fc1_b_stride = b1.stride[0];
  p.fc2_w_stride = w2.stride[0];
  p.fc2_b_stride = b2.stride[0];
  p.hidden = static_cast<int>(w1.shape[0]);
  p.unit_vectors = cuda::rows_are_vectors(w1);
}

GateParams make_params(const LaunchArgs& args) {
  expects(args.in.size() == 8 && args.out.size() == 1, "q, three branches, the gate's weights; o");
  const Problem& problem = args.problem;
  GateParams p{};
  p.q = head_tensor<const void>(args.in[0]);
  for (std::size_t b = 0; b < 3; ++b) p.branch[b] = head_tensor<const void>(args.in[1 + b]);
  p.o = head_tensor<void>(args.out[0]);
  set_weights(p, args);
  if (args.saved && args.saved->gates) {
    const TensorView& gates = args.saved->gates;
    expects(gates.dtype == Dtype::fp32 && gates.rows_contiguous(), "gates in fp32");
    p.gates = gates.as<float>();
    p.gates_row_stride = gates.stride[0];
    p.gates_head_stride = gates.stride[1];
  }
  p.rows = args.in[0].shape[0] * problem.kv_heads;
  p.kv_heads = static_cast<int>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.dv = static_cast<int>(problem.head_dim_v);
  p.inverse_tau = static_cast<float>(1.0 / std::max(args.constants.gate_tau, 1e-6));
  p.force_branch = args.constants.force_branch;
  p.branches = args.constants.branches;
  p.uniform = args.constants.uniform_gate;
  return p;
}

bool vectors(const GateParams& p) {
  bool aligned = p.q.vectors && p.o.vectors;
  for (const auto& branch : p.branch) aligned = aligned && (!branch.data || branch.vectors);
  return aligned;
}

std::int64_t blocks_of(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

std::size_t shared_bytes(const GateParams& p) {
  return static_cast<std::size_t>(cuda::gate_shared_floats(p.dk)) * sizeof(float);
}

/// Calls f(zero of the storage type, width).
template <class F>
void with_kernel_types(const LaunchArgs& args, const GateParams& p, F f) {
  cuda::with_storage_type(args.problem.dtype, [&](auto zero) {
    cuda::with_vector_width<decltype(zero)>(vectors(p), [&](auto width) { f(zero, width); });
  });
}

void launch_fused(const LaunchArgs& args) {
  const GateParams p = make_params(args);
  with_kernel_types(args, p, [&](auto zero, auto width) {
    cuda::launch(fused_kernel<decltype(zero), decltype(width)::value>, blocks_of(p.rows, kGateRows),
                 kGateThreads, shared_bytes(p), args.stream, p);
  });
}

void launch_three_steps(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  GateParams p = make_params(args);
  p.means = args.workspace.take<float>(p.rows * p.dk).data();
  p.weights = args.workspace.take<float>(p.rows * 3).data();
  const std::int64_t blocks = blocks_of(p.rows, kGateRows);
  with_kernel_types(args, p, [&](auto zero, auto width) {
    using T = decltype(zero);
    constexpr int kWidth = decltype(width)::value;
    cuda::launch(means_kernel<T, kWidth>, blocks_of(p.rows * (p.dk / kWidth), kGateThreads),
                 kGateThreads, 0, args.stream, p);
    cuda::launch(gates_kernel<T>, blocks, kGateThreads, shared_bytes(p), args.stream, p);
    cuda::launch(combine_kernel<T, kWidth>, blocks, kGateThreads, 0, args.stream, p);
  });
}

}  // namespace

constinit const LaunchFunction kCudaGateFused = launch_fused;
constinit const LaunchFunction kCudaThreeSteps = launch_three_steps;

}  // namespace nsa::gate_combine
