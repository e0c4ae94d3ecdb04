// `gpu_merge`: converts as a PyTorch program does without the host: whole arrays at a time, as
// tensor operations would. Run starts, a running count of them per row, and a scatter are a kernel
// each, with what lies between them in memory. ranges_v2 does the same in registers.
#include "cuda/launch/launch.cuh"
#include "ranges/cuda/params.cuh"

namespace nsa::ranges {
namespace {

constexpr int kThreads = 256;

struct MergeParams : RangesParams {
  std::int32_t* kept;  // [rows, sel_count] ids that count, others -1
  std::int32_t* runs;  // [rows, sel_count] the index of the run that the id belongs to

  __device__ std::int64_t position(std::int64_t row) const {
    return RangesParams::position(sequence(row), row);
  }
  __device__ std::int32_t* pair(std::int64_t row, std::int64_t run) const {
    return pairs(row) + run * ranges_pair_stride;
  }
};

/// A thread per element: whether its id counts; its pair is cleared.
__global__ void __launch_bounds__(kThreads) clean_kernel(MergeParams p) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= p.rows * p.sel_count) return;
  const std::int64_t row = i / p.sel_count, k = i % p.sel_count;
  const std::int32_t id = p.ids(row)[k * p.blocks_id_stride];
  p.kept[i] = id >= 0 && id <= p.position(row) / p.sel_block ? id : -1;
  std::int32_t* pair = p.pair(row, k);
  pair[0] = pair[1] = 0;
}

/// A thread per row: the index of the run that each id belongs to.
__global__ void __launch_bounds__(kThreads) count_kernel(MergeParams p) {
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (row >= p.rows) return;
  std::int32_t previous = -2, run = -1;
  for (std::int64_t i = row * p.sel_count; i < (row + 1) * p.sel_count; ++i) {
    const std::int32_t id = p.kept[i];
    if (id < 0) continue;
    run += id != previous && id != previous + 1;
    p.runs[i] = run;
    previous = id;
  }
}

/// A thread per element: the first id of a run writes its start, the last one its end.
__global__ void __launch_bounds__(kThreads) scatter_kernel(MergeParams p) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= p.rows * p.sel_count || p.kept[i] < 0) return;
  const std::int64_t row = i / p.sel_count, first = row * p.sel_count;
  std::int64_t before = i - 1, behind = i + 1;
  while (before >= first && p.kept[before] < 0) --before;
  while (behind < first + p.sel_count && p.kept[behind] < 0) ++behind;
  std::int32_t* pair = p.pair(row, p.runs[i]);
  const std::int64_t begin = p.kept[i] * p.sel_block;
  if (before < first || p.runs[before] != p.runs[i]) pair[0] = static_cast<std::int32_t>(begin);
  if (behind == first + p.sel_count || p.runs[behind] != p.runs[i])
    pair[1] = static_cast<std::int32_t>(min(begin + p.sel_block, p.position(row) + 1));
}

void launch_merge(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const RangesParams ranges = ranges_params(args);
  const std::int64_t rows = ranges.rows, elements = rows * ranges.sel_count;
  const MergeParams params{ranges, args.workspace.take<std::int32_t>(elements).data(),
                           args.workspace.take<std::int32_t>(elements).data()};
  const auto blocks_of = [](std::int64_t threads) { return (threads + kThreads - 1) / kThreads; };
  cuda::launch(clean_kernel, blocks_of(elements), kThreads, 0, args.stream, params);
  cuda::launch(count_kernel, blocks_of(rows), kThreads, 0, args.stream, params);
  cuda::launch(scatter_kernel, blocks_of(elements), kThreads, 0, args.stream, params);
}

}  // namespace

extern constinit const LaunchFunction kCudaGpuMerge = launch_merge;

}  // namespace nsa::ranges
