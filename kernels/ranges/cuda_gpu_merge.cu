// `gpu_merge`: the second seed's way to convert without the host: whole arrays at a time, as tensor
// operations would. Run starts, a running count of them per row, and a scatter are a kernel each,
// with what lies between them in memory. ranges_v2 does the same in registers.
#include "cuda/attend_device.cuh"
#include "cuda/launch.cuh"
#include "ranges/cuda_launch.hpp"

namespace nsa::ranges {
namespace {

constexpr int kThreads = 256;

struct MergeParams {
  const std::int32_t* blocks;  // [tokens, kv_heads, sel_count]
  std::int64_t blocks_row_stride, blocks_head_stride, blocks_id_stride;
  std::int32_t* ranges;  // [tokens, kv_heads, sel_count, 2]
  std::int64_t ranges_row_stride, ranges_head_stride, ranges_pair_stride;
  const Sequence* sequences;
  std::int64_t batch, rows;  // rows: tokens x kv_heads
  int kv_heads, sel_count;
  std::int64_t sel_block;
  std::int32_t* ids;   // [rows, sel_count] ids that count, others -1
  std::int32_t* runs;  // [rows, sel_count] 1 where a run starts, then the index of the run

  __device__ std::int64_t position(std::int64_t row) const {
    const std::int64_t token = row / kv_heads;
    const Sequence s = cuda::sequence_of_token(sequences, batch, token);
    return s.kv_len - s.q_len + token - s.q_begin;
  }
  __device__ std::int32_t* pair(std::int64_t row, std::int64_t run) const {
    return ranges + row / kv_heads * ranges_row_stride + row % kv_heads * ranges_head_stride +
           run * ranges_pair_stride;
  }
};

/// A thread per element: whether its id counts; its pair is cleared.
__global__ void __launch_bounds__(kThreads) clean_kernel(MergeParams p) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= p.rows * p.sel_count) return;
  const std::int64_t row = i / p.sel_count, k = i % p.sel_count;
  const std::int32_t id =
      p.blocks[row / p.kv_heads * p.blocks_row_stride + row % p.kv_heads * p.blocks_head_stride +
               k * p.blocks_id_stride];
  p.ids[i] = id >= 0 && id <= p.position(row) / p.sel_block ? id : -1;
  std::int32_t* pair = p.pair(row, k);
  pair[0] = pair[1] = 0;
}

/// A thread per row: the index of the run that each id belongs to.
__global__ void __launch_bounds__(kThreads) count_kernel(MergeParams p) {
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (row >= p.rows) return;
  std::int32_t previous = -2, run = -1;
  for (std::int64_t i = row * p.sel_count; i < (row + 1) * p.sel_count; ++i) {
    const std::int32_t id = p.ids[i];
    if (id < 0) continue;
    run += id != previous && id != previous + 1;
    p.runs[i] = run;
    previous = id;
  }
}

/// A thread per element: the first id of a run writes its start, the last one its end.
__global__ void __launch_bounds__(kThreads) scatter_kernel(MergeParams p) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= p.rows * p.sel_count || p.ids[i] < 0) return;
  const std::int64_t row = i / p.sel_count, first = row * p.sel_count;
  std::int64_t before = i - 1, behind = i + 1;
  while (before >= first && p.ids[before] < 0) --before;
  while (behind < first + p.sel_count && p.ids[behind] < 0) ++behind;
  std::int32_t* pair = p.pair(row, p.runs[i]);
  const std::int64_t begin = p.ids[i] * p.sel_block;
  if (before < first || p.runs[before] != p.runs[i]) pair[0] = static_cast<std::int32_t>(begin);
  if (behind == first + p.sel_count || p.runs[behind] != p.runs[i])
    pair[1] = static_cast<std::int32_t>(min(begin + p.sel_block, p.position(row) + 1));
}

void launch_merge(const LaunchArgs& args) {
  expects(args.in.size() == 1 && args.out.size() == 1, "blocks in, ranges out");
  const WorkspaceScope scope(args.workspace);
  const TensorView &blocks = args.in[0], &ranges = args.out[0];
  const Problem& problem = args.problem;
  const std::int64_t rows = problem.total_tokens() * problem.kv_heads;
  const std::int64_t elements = rows * problem.geometry.sel_count;
  const MergeParams params{blocks.as<const std::int32_t>(),
                           blocks.stride[0],
                           blocks.stride[1],
                           blocks.stride[2],
                           ranges.as<std::int32_t>(),
                           ranges.stride[0],
                           ranges.stride[1],
                           ranges.stride[2],
                           args.device_sequences,
                           problem.batch(),
                           rows,
                           static_cast<int>(problem.kv_heads),
                           static_cast<int>(problem.geometry.sel_count),
                           problem.geometry.sel_block,
                           args.workspace.take<std::int32_t>(elements).data(),
                           args.workspace.take<std::int32_t>(elements).data()};
  const auto blocks_of = [](std::int64_t threads) { return (threads + kThreads - 1) / kThreads; };
  cuda::launch(clean_kernel, blocks_of(elements), kThreads, 0, args.stream, params);
  cuda::launch(count_kernel, blocks_of(rows), kThreads, 0, args.stream, params);
  cuda::launch(scatter_kernel, blocks_of(elements), kThreads, 0, args.stream, params);
}

}  // namespace

constinit const LaunchFunction kCudaGpuMerge = launch_merge;

}  // namespace nsa::ranges
