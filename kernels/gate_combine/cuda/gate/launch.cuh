// From the arguments of a launch to the kernels of the stage (docs/nsa.md 8). A warp has two or
// four rows (token, KV head), a hidden unit of the gate per lane, so that a weight that is read
// from shared memory serves all of them and logits are summed once at the end.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/flash/head_tensor.hpp"
#include "cuda/memory/alignment.hpp"
#include "gate_combine/cuda/gate/gate.cuh"
#include "operands/model.hpp"

namespace nsa::gate_combine {

using cuda::GateParams;
using cuda::kGateThreads;
using cuda::kGateWarps;

inline constexpr int kAhead = 3;  // pieces of a lane whose reads hide behind the gate

/// First of the warp's rows.
template <int kRows>
__device__ std::uint32_t first_row() {
  return (blockIdx.x * kGateWarps + threadIdx.x / 32) * kRows;
}

template <class T>
cuda::HeadTensor<T> head_tensor(const TensorView& view) {
  if (!view) return {};
  return cuda::head_tensor<T>(view, cuda::rows_are_vectors(view));
}

inline GateParams make_params(const LaunchArgs& args) {
  const GateTensors tensors = GateTensors::of(args);
  const Problem& problem = args.problem;
  GateParams p{};
  p.q = head_tensor<const void>(tensors.q);
  for (std::size_t b = 0; b < 3; ++b) p.branch[b] = head_tensor<const void>(tensors.branches[b]);
  p.o = head_tensor<void>(tensors.o);
  p.mlp = cuda::gate_mlp(tensors.weights);
  p.hidden = static_cast<int>(tensors.weights.fc1_w.shape[0]);
  p.unit_vectors = cuda::rows_are_vectors(tensors.weights.fc1_w);
  if (args.saved && args.saved->gates) {
    const TensorView& gates = args.saved->gates;
    expects(gates.dtype == Dtype::fp32 && gates.rows_contiguous(), "gates in fp32");
    p.gates = gates.as<float>();
    p.gates_row_stride = gates.stride[0];
    p.gates_head_stride = gates.stride[1];
  }
  const std::int64_t rows = tensors.q.shape[0] * problem.kv_heads;
  expects(rows <= 0x7fffffff, "2^31 - 1 rows or less in one launch");
  p.rows = static_cast<std::uint32_t>(rows);
  p.kv_heads = static_cast<std::uint32_t>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.dv = static_cast<int>(problem.head_dim_v);
  p.inverse_group = 1.0f / static_cast<float>(p.group);
  p.inverse_tau = static_cast<float>(1.0 / std::max(args.options.gate_tau, 1e-6));
  p.force_branch = forced_index(args.options);
  p.branches = args.options.branches;
  p.uniform = args.options.uniform_gate;
  return p;
}

/// True when tensors [tokens, q_heads, dv] can be read 16 bytes at a time as one flat row.
template <class T>
bool is_flat(const GateParams& p, const cuda::HeadTensor<T>& tensor) {
  const std::int64_t heads = std::int64_t{p.kv_heads} * p.group;
  return tensor.vectors && tensor.head_stride == p.dv && tensor.row_stride == heads * p.dv;
}
inline bool vectors(const GateParams& p) {
  bool flat = p.q.vectors && is_flat(p, p.o);
  for (const auto& branch : p.branch) flat = flat && (!branch.data || is_flat(p, branch));
  return flat;
}

inline std::int64_t blocks_of(std::int64_t items, std::int64_t each) {
  return (items + each - 1) / each;
}

/// Calls f(zero of the storage type, width, rows of a warp): two, so that few rows fill the chip,
/// and where a row is long; four where there are many short ones, so that each weight that is read
/// serves more of them.
template <class F>
void with_kernel_types(const LaunchArgs& args, const GateParams& p, F f) {
  constexpr std::int64_t kManyRows = 16384;
  constexpr int kLongRow = 1024;  // numbers in each branch
  cuda::with_storage_type(args.problem.dtype, [&](auto zero) {
    cuda::with_vector_width<decltype(zero)>(vectors(p), [&](auto width) {
      if (p.rows < kManyRows || p.group * p.dv > kLongRow)
        return f(zero, width, std::integral_constant<int, 2>{});
      f(zero, width, std::integral_constant<int, cuda::kMostGateRows>{});
    });
  });
}

/// Bytes of a block's tile; also sets whether it keeps all hidden units.
inline std::size_t tile_bytes(GateParams& p, int rows) {
  const int kept = cuda::gate_units_kept(p.dk, rows, p.hidden);
  p.units_kept = kept * cuda::kGateUnits >= p.hidden;
  return static_cast<std::size_t>(cuda::gate_shared_floats(p.dk, rows, kept)) * 4;
}

}  // namespace nsa::gate_combine
