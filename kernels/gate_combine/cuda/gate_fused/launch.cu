// `gate_fused`: the stage as one kernel, which starts the reads of the branches before the gate, to
// hide their latency behind it.
#include "cuda/ptx/sm90_device.hpp"
#include "gate_combine/cuda/gate/launch.cuh"

namespace nsa::gate_combine {
namespace {

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

}  // namespace

extern constinit const LaunchFunction kCudaGateFused = launch_fused;

}  // namespace nsa::gate_combine
