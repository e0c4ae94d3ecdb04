#include "attend_selected/cuda_launch.hpp"

#include "attend_selected/cuda_fused_query.hpp"
#include "attend_selected/cuda_row_loop.hpp"
#include "attend_selected/cuda_tiles.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

using Kernel = void (*)(const cuda::AttendParams&, CUstream_st*);

/// The kernel of the problem's storage type.
void launch(const LaunchArgs& args, Kernel fp32, Kernel bf16, Kernel fp16) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  switch (args.problem.dtype) {
    case Dtype::fp32:
      return fp32(params, args.stream);
    case Dtype::bf16:
      return bf16(params, args.stream);
    case Dtype::fp16:
      return fp16(params, args.stream);
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

void launch_masked(const LaunchArgs& args) {
  launch(args, cuda::masked_fp32, cuda::masked_bf16, cuda::masked_fp16);
}

void launch_gather(const LaunchArgs& args) {
  launch(args, cuda::gather_fp32, cuda::gather_bf16, cuda::gather_fp16);
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
  const std::int64_t tile = query_tile(args);
  switch (args.problem.dtype) {
    case Dtype::fp32:
      return cuda::fused_query_fp32(params, tile, args.stream);
    case Dtype::bf16:
      return cuda::fused_query_bf16(params, tile, args.stream);
    case Dtype::fp16:
      return cuda::fused_query_fp16(params, tile, args.stream);
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

}  // namespace

constinit const LaunchFunction kCudaMasked = launch_masked;
constinit const LaunchFunction kCudaRanges = cuda::attend_row_by_row;
constinit const LaunchFunction kCudaGather = launch_gather;
constinit const LaunchFunction kCudaFusedQuery = launch_fused_query;

}  // namespace nsa::attend_selected
