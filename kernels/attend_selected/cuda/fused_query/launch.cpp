#include "attend_selected/cuda/fused_query/launch.hpp"

#include "cuda/launch/coordinate.hpp"
#include "cuda/launch/typed_kernels.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

void fused_query(const AttendParams& p, const LaunchArgs& args) {
  constexpr TypedKernels kFusedQuery{fused_query_fp32, fused_query_bf16, fused_query_fp16};
  expects(p.blocks != nullptr, "blocks");
  const std::int64_t tile = coordinate(args, "bq", default_query_tile(args.problem));
  kFusedQuery.of(args.problem.dtype)(p, tile, args.stream);
}

}  // namespace nsa::cuda

namespace nsa::attend_selected {
namespace {

void launch_fused_query(const LaunchArgs& args) {
  cuda::fused_query(cuda::make_attend_params(args), args);
}

}  // namespace

extern constinit const LaunchFunction kCudaFusedQuery = launch_fused_query;

}  // namespace nsa::attend_selected
