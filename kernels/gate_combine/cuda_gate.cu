// The stage as one kernel and as three (docs/nsa.md 8). A warp has two or four rows (token, KV
// head), a hidden unit of the gate per lane, so that a weight that is read from shared memory
// serves all of them and logits are summed once at the end. The one kernel starts the reads of the
// branches before the gate, to hide their latency behind it. The three keep means and gates in
// memory in fp32: what the stage costs when its parts are written one by one.
#include <algorithm>
#include <type_traits>

#include "cuda/alignment.hpp"
#include "cuda/sm90_device.hpp"
#include "gate_combine/cuda_gate.cuh"
#include "gate_combine/cuda_rows.hpp"

namespace nsa::gate_combine {
namespace {

using cuda::GateParams;
using cuda::kGateThreads;
using cuda::kGateWarps;

constexpr int kAhead = 3;  // pieces of a lane whose reads hide behind the gate

/// First of the warp's rows.
template <int kRows>
__device__ std::uint32_t first_row() {
  return (blockIdx.x * kGateWarps + threadIdx.x / 32) * kRows;
}

/// Blocks go over the rows with the weights of the hidden units, which they read once.
template <class T, int kWidth, int kRows>
__global__ void __launch_bounds__(kGateThreads, 2) fused_kernel(GateParams p) {
  const cuda::GateTile tile = cuda::gate_tile<kRows>(p);
  cuda::keep_units<T>(p, tile);
  for (std::uint32_t first = first_row<kRows>(); first - first % (kGateWarps * kRows) < p.rows;
       first += gridDim.x * kGateWarps * kRows) {
    cuda::Ahead<T, kWidth, kRows, kAhead> ahead;
    ahead.load(p, first, static_cast<int>(threadIdx.x) % 32);
    __syncwarp();  // the means before are no longer read
    cuda::fill_means<T, kWidth, kRows>(p, first, tile);
    __syncwarp();
    cuda::make_gates<T, kRows>(p, first, tile);
    cuda::combine_rows<T, kWidth, kRows>(p, first, ahead, tile);
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kGateThreads) means_kernel(GateParams p) {
  const int pieces = p.dk / kWidth;
  const std::int64_t i = blockIdx.x * std::int64_t{kGateThreads} + threadIdx.x, row = i / pieces;
  if (row >= p.rows) return;
  const int column = static_cast<int>(i % pieces) * kWidth;
  float mean[kWidth];
  cuda::mean_query<T, kWidth>(p, static_cast<std::uint32_t>(row), column, mean);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) p.means[row * p.dk + column + j] = mean[j];
}

template <class T, int kRows>
__global__ void __launch_bounds__(kGateThreads) gates_kernel(GateParams p) {
  const cuda::GateTile tile = cuda::gate_tile<kRows>(p);
  const std::uint32_t first = first_row<kRows>();
  for (int i = static_cast<int>(threadIdx.x) % 32; i < kRows * p.dk; i += 32) {
    const int r = i / p.dk, column = i % p.dk;
    const std::int64_t row = std::int64_t{first} + r;
    tile.means[column * kRows + r] = row < p.rows ? p.means[row * p.dk + column] : 0;
  }
  __syncwarp();
  cuda::keep_units<T>(p, tile);
  cuda::make_gates<T, kRows>(p, first, tile);
}

template <class T, int kWidth, int kRows>
__global__ void __launch_bounds__(kGateThreads, 2) combine_kernel(GateParams p) {
  const std::uint32_t first = first_row<kRows>();
  const cuda::GateTile tile = cuda::gate_tile<kRows>(p);
  const auto lane = threadIdx.x % 32;
  if (lane < kRows && first + lane < p.rows) {
    float gates[3];
#pragma unroll
    for (int b = 0; b < 3; ++b) gates[b] = p.weights[std::int64_t{first + lane} * 3 + b];
    cuda::put_gates(tile, static_cast<int>(lane), gates);
  }
  __syncwarp();
  cuda::Ahead<T, kWidth, kRows, kAhead> ahead;
  ahead.load(p, first, static_cast<int>(lane));
  cuda::combine_rows<T, kWidth, kRows>(p, first, ahead, tile);
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
  const std::int64_t rows = args.in[0].shape[0] * problem.kv_heads;
  expects(rows <= 0x7fffffff, "2^31 - 1 rows or less in one launch");
  p.rows = static_cast<std::uint32_t>(rows);
  p.kv_heads = static_cast<std::uint32_t>(problem.kv_heads);
  p.group = static_cast<int>(problem.heads_per_group());
  p.dk = static_cast<int>(problem.head_dim_k);
  p.dv = static_cast<int>(problem.head_dim_v);
  p.inverse_group = 1.0f / static_cast<float>(p.group);
  p.inverse_tau = static_cast<float>(1.0 / std::max(args.constants.gate_tau, 1e-6));
  p.force_branch = args.constants.force_branch;
  p.branches = args.constants.branches;
  p.uniform = args.constants.uniform_gate;
  return p;
}

/// True when tensors [tokens, q_heads, dv] can be read 16 bytes at a time as one flat row.
template <class T>
bool is_flat(const GateParams& p, const cuda::HeadTensor<T>& tensor) {
  const std::int64_t heads = std::int64_t{p.kv_heads} * p.group;
  return tensor.vectors && tensor.head_stride == p.dv && tensor.row_stride == heads * p.dv;
}
bool vectors(const GateParams& p) {
  bool flat = p.q.vectors && is_flat(p, p.o);
  for (const auto& branch : p.branch) flat = flat && (!branch.data || is_flat(p, branch));
  return flat;
}

std::int64_t blocks_of(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

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
std::size_t tile_bytes(GateParams& p, int rows) {
  const int kept = cuda::gate_units_kept(p.dk, rows, p.hidden);
  p.units_kept = kept * cuda::kGateUnits >= p.hidden;
  return static_cast<std::size_t>(cuda::gate_shared_floats(p.dk, rows, kept)) * 4;
}

/// As many blocks as the device holds at a time, each for many rows.
template <class Kernel>
std::int64_t resident_blocks(Kernel kernel, std::size_t shared_bytes) {
  int each = 0;
  cuda::allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
  NSA_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kGateThreads, shared_bytes));
  return std::int64_t{cuda::multiprocessors()} * std::max(each, 1);
}

void launch_fused(const LaunchArgs& args) {
  GateParams p = make_params(args);
  with_kernel_types(args, p, [&](auto zero, auto width, auto rows) {
    constexpr int kRows = decltype(rows)::value;
    const auto kernel = fused_kernel<decltype(zero), decltype(width)::value, kRows>;
    const std::size_t shared = tile_bytes(p, kRows);
    const std::int64_t blocks =
        std::min(blocks_of(p.rows, kGateWarps * kRows), resident_blocks(kernel, shared));
    cuda::launch(kernel, blocks, kGateThreads, shared, args.stream, p);
  });
}

void launch_three_steps(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  GateParams p = make_params(args);
  p.means = args.workspace.take<float>(std::int64_t{p.rows} * p.dk).data();
  p.weights = args.workspace.take<float>(std::int64_t{p.rows} * 3).data();
  with_kernel_types(args, p, [&](auto zero, auto width, auto rows) {
    using T = decltype(zero);
    constexpr int kWidth = decltype(width)::value, kRows = decltype(rows)::value;
    const std::int64_t blocks = blocks_of(p.rows, kGateWarps * kRows);
    const std::size_t shared = tile_bytes(p, kRows);
    cuda::launch(means_kernel<T, kWidth>,
                 blocks_of(std::int64_t{p.rows} * (p.dk / kWidth), kGateThreads), kGateThreads, 0,
                 args.stream, p);
    cuda::launch(gates_kernel<T, kRows>, blocks, kGateThreads, shared, args.stream, p);
    cuda::launch(combine_kernel<T, kWidth, kRows>, blocks, kGateThreads,
                 sizeof(float4) * kGateWarps * kRows, args.stream, p);
  });
}

}  // namespace

constinit const LaunchFunction kCudaGateFused = launch_fused;
constinit const LaunchFunction kCudaThreeSteps = launch_three_steps;

}  // namespace nsa::gate_combine
