// `three_steps`: means and gates in memory in fp32, a kernel for each step: what the stage costs
// when its parts are written one by one.
#include "gate_combine/cuda/gate/launch.cuh"

namespace nsa::gate_combine {
namespace {

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

extern constinit const LaunchFunction kCudaThreeSteps = launch_three_steps;

}  // namespace nsa::gate_combine
