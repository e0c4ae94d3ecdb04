#include "attend_selected/cuda_launch.hpp"

#include "attend_selected/cuda_fused_query.hpp"
#include "attend_selected/cuda_row_loop.hpp"
#include "attend_selected/cuda_tiles.hpp"
#include "cuda/typed_kernels.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kMasked{cuda::masked_fp32, cuda::masked_bf16, cuda::masked_fp16};
constexpr cuda::TypedKernels kGather{cuda::gather_fp32, cuda::gather_bf16, cuda::gather_fp16};
constexpr cuda::TypedKernels kFusedQuery{cuda::fused_query_fp32, cuda::fused_query_bf16,
                                         cuda::fused_query_fp16};

void launch_masked(const LaunchArgs& args) {
  kMasked.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

void launch_gather(const LaunchArgs& args) {
  kGather.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

/// Value of the coordinate `t`. Without one: many queries, so that more of them share what is read;
/// but short sequences (decode) do not fill such a tile.
std::int64_t query_tile(const LaunchArgs& args) {
  for (const auto& [name, value] : args.point) {
    if (name == "t") return value;
  }
  return args.problem.max_seq_len() > 8 ? cuda::kLargeQueryTile : cuda::kSmallQueryTile;
}

void launch_fused_query(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  kFusedQuery.of(args.problem.dtype)(params, query_tile(args), args.stream);
}

}  // namespace

constinit const LaunchFunction kCudaMasked = launch_masked;
constinit const LaunchFunction kCudaRanges = cuda::attend_row_by_row;
constinit const LaunchFunction kCudaGather = launch_gather;
constinit const LaunchFunction kCudaFusedQuery = launch_fused_query;

}  // namespace nsa::attend_selected
