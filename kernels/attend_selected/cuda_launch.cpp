#include "attend_selected/cuda_launch.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attend_selected/cuda_dense_prefix.hpp"
#include "attend_selected/cuda_fused_block.hpp"
#include "attend_selected/cuda_fused_query.hpp"
#include "attend_selected/cuda_packed.hpp"
#include "attend_selected/cuda_row_loop.hpp"
#include "attend_selected/cuda_tiles.hpp"
#include "cuda/copy_rows.hpp"
#include "cuda/typed_kernels.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kMasked{cuda::masked_fp32, cuda::masked_bf16, cuda::masked_fp16};
constexpr cuda::TypedKernels kMaskedBlocks{cuda::masked_blocks_fp32, cuda::masked_blocks_bf16,
                                           cuda::masked_blocks_fp16};
constexpr cuda::TypedKernels kGather{cuda::gather_fp32, cuda::gather_bf16, cuda::gather_fp16};
constexpr cuda::TypedKernels kFusedQuery{cuda::fused_query_fp32, cuda::fused_query_bf16,
                                         cuda::fused_query_fp16};

constexpr cuda::TypedKernels kDenseCausal{cuda::dense_causal_fp32, cuda::dense_causal_bf16,
                                          cuda::dense_causal_fp16};

void launch_masked(const LaunchArgs& args) {
  kMasked.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

void launch_masked_blocks(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  kMaskedBlocks.of(args.problem.dtype)(params, args.stream);
}

void launch_gather(const LaunchArgs& args) {
  kGather.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

/// Value of the point's coordinate `name`, or, in a launch whose point does not name it,
/// `fallback`.
std::int64_t coordinate(const LaunchArgs& args, std::string_view name, std::int64_t fallback) {
  for (const auto& [given, value] : args.point) {
    if (given == name) return value;
  }
  return fallback;
}
std::int64_t query_tile(const LaunchArgs& args) {
  return coordinate(args, "t", cuda::default_query_tile(args.problem));
}

void launch_fused_query(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  kFusedQuery.of(args.problem.dtype)(params, query_tile(args), args.stream);
}

/// Rows that are not aligned go to fused_query, which takes any.
void launch_fused_block(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  const cuda::BlockPlan plan(args.problem,
                             coordinate(args, "c", cuda::default_query_chunk(args.problem)));
  const bool bf16 = args.problem.dtype == Dtype::bf16;
  if ((bf16 ? cuda::fused_block_bf16 : cuda::fused_block_fp16)(params, plan, args)) return;
  args.fall_back("fused_block_unaligned_rows");
  launch_fused_query(args);
}

/// Queries of a sequence that n l' may cover, at most.
std::int64_t coverable(const LaunchArgs& args, const Sequence& s) {
  const Geometry& g = args.problem.geometry;
  return std::clamp<std::int64_t>(g.sel_count * g.sel_block - s.first_position(), 0, s.q_len);
}

void launch_dense_prefix(const LaunchArgs& args) {
  std::int64_t most = 0;
  for (const Sequence& s : args.sequences) most = std::max(most, coverable(args, s));
  if (most == 0) return launch_fused_query(args);
  const WorkspaceScope scope(args.workspace);
  cuda::AttendParams dense = cuda::make_attend_params(args), sparse = dense;
  expects(dense.blocks != nullptr, "blocks");
  Sequence* parts = args.workspace.take<Sequence>(2 * dense.batch).data();
  cuda::split_sequences(dense, parts, parts + dense.batch, args.stream);
  dense.sequences = parts;
  if (dense.batch == 1) dense.tokens = most;  // no tiles for those behind
  kDenseCausal.of(args.problem.dtype)(dense, args.stream);
  sparse.sequences = parts + sparse.batch;
  kFusedQuery.of(args.problem.dtype)(sparse, query_tile(args), args.stream);
}

/// A view of every group's head `head` in [tokens, q_heads, dim].
TensorView every_group(const TensorView& expanded, std::int64_t group, std::int64_t head) {
  TensorView view = expanded;
  view.data = static_cast<std::byte*>(expanded.data) +
              static_cast<std::size_t>(head * expanded.stride[1]) * size_of(expanded.dtype);
  view.shape[1] /= group;
  view.stride[1] *= group;
  return view;
}

/// masked over copies of K and V, one per query head.
void launch_kv_expanded(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const std::int64_t group = args.problem.heads_per_group(), heads = args.problem.q_heads;
  std::array<TensorView, 2> expanded;
  std::vector<cuda::TensorCopy> copies;
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorView& from = args.in[i + 1];
    TensorView& to = expanded[i];
    to = make_view(nullptr, from.dtype, {from.shape[0], heads, from.shape[2]});
    to.data = args.workspace.take(to.bytes());
    for (std::int64_t h = 0; h < group; ++h) copies.push_back({from, every_group(to, group, h)});
  }
  cuda::copy_tensors(copies, args.stream);
  std::vector<TensorView> in(args.in.begin(), args.in.end());
  in[1] = expanded[0];
  in[2] = expanded[1];
  LaunchArgs copied = args;
  copied.in = in;
  cuda::AttendParams params = cuda::make_attend_params(copied);
  params.kv_heads = static_cast<int>(heads);
  params.group = 1;
  params.ranges_share = static_cast<int>(group);
  kMasked.of(args.problem.dtype)(params, args.stream);
}

}  // namespace

constinit const LaunchFunction kCudaMasked = launch_masked;
constinit const LaunchFunction kCudaMaskedBlocks = launch_masked_blocks;
constinit const LaunchFunction kCudaRanges = cuda::attend_row_by_row;
constinit const LaunchFunction kCudaGather = launch_gather;
constinit const LaunchFunction kCudaPacked = cuda::attend_packed;
constinit const LaunchFunction kCudaVarlenV1 = cuda::attend_varlen_v1;
constinit const LaunchFunction kCudaVarlenV2 = cuda::attend_varlen_v2;
constinit const LaunchFunction kCudaFusedQuery = launch_fused_query;
constinit const LaunchFunction kCudaFusedBlock = launch_fused_block;
constinit const LaunchFunction kCudaDensePrefix = launch_dense_prefix;
constinit const LaunchFunction kCudaKvExpanded = launch_kv_expanded;

}  // namespace nsa::attend_selected
