// `ranges_v2` on a GPU: one kernel, a warp per row. A run of neighbouring ids becomes one range;
// the start of a run and its end are found by comparing each id with the valid one before it.
#include "cuda/launch/launch.cuh"
#include "ranges/cuda/params.cuh"

namespace nsa::ranges {
namespace {

constexpr int kWarps = 8;
constexpr unsigned kAll = 0xffffffffu;

/// Where the warp stands after some of the row's ids.
struct RowState {
  int runs = 0;      // found so far
  int last_id = -2;  // the valid id before; -2 is no neighbour of any
};

/// 32 ids of the row, one per lane. A valid id that is the one before or its neighbour goes on with
/// the run; each run's first id writes its start, each last id (so far) its end.
__device__ void convert_ids(const RangesParams& p, int id, std::int64_t position,
                            std::int64_t blocks_in_all, std::int32_t* out, RowState& state) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t begin = id * p.sel_block;
  const bool valid = id >= 0 && id < blocks_in_all && begin <= position;
  const unsigned valid_lanes = __ballot_sync(kAll, valid);
  const unsigned before = valid_lanes & ((1u << lane) - 1);
  const int id_before = __shfl_sync(kAll, id, before ? 31 - __clz(static_cast<int>(before)) : 0);
  const int previous = before ? id_before : state.last_id;
  const bool starts = valid && id != previous && id != previous + 1;
  const unsigned start_lanes = __ballot_sync(kAll, starts);
  const unsigned up_to_here = lane == 31 ? kAll : (2u << lane) - 1;
  const unsigned behind = valid_lanes & ~up_to_here;
  const bool ends = valid && (!behind || start_lanes >> (__ffs(static_cast<int>(behind)) - 1) & 1);
  std::int32_t* pair =
      out + (state.runs + __popc(start_lanes & up_to_here) - 1) * p.ranges_pair_stride;
  if (starts) pair[0] = static_cast<std::int32_t>(begin);
  if (ends) pair[1] = static_cast<std::int32_t>(min(begin + p.sel_block, position + 1));
  state.runs += __popc(start_lanes);
  if (valid_lanes) state.last_id = __shfl_sync(kAll, id, 31 - __clz(static_cast<int>(valid_lanes)));
  __syncwarp();  // the next ids may make the last run longer
}

__global__ void __launch_bounds__(32 * kWarps) ranges_kernel(RangesParams p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = blockIdx.x * std::int64_t{kWarps} + threadIdx.x / 32;
  if (row >= p.rows) return;
  const Sequence s = p.sequence(row);
  const std::int64_t position = p.position(s, row);
  const std::int64_t blocks_in_all = (s.kv_len + p.sel_block - 1) / p.sel_block;
  const std::int32_t* ids = p.ids(row);
  std::int32_t* out = p.pairs(row);

  RowState state;
  for (int first = 0; first < p.sel_count; first += 32) {
    const int i = first + lane;
    const int id = i < p.sel_count ? ids[i * p.blocks_id_stride] : -1;
    convert_ids(p, id, position, blocks_in_all, out, state);
  }
  for (int i = state.runs + lane; i < p.sel_count; i += 32) {
    out[i * p.ranges_pair_stride] = 0;
    out[i * p.ranges_pair_stride + 1] = 0;
  }
}

void launch_v2(const LaunchArgs& args) {
  const RangesParams params = ranges_params(args);
  cuda::launch(ranges_kernel, (params.rows + kWarps - 1) / kWarps, 32 * kWarps, 0, args.stream,
               params);
}

}  // namespace

extern constinit const LaunchFunction kCudaRangesV2 = launch_v2;

}  // namespace nsa::ranges
