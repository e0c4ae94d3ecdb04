// The launch function of the fused row.
#include <cuda_runtime_api.h>

#include "attend_compressed/cuda/fused_score/launch.cuh"
#include "attend_compressed/cuda/fused_score/shape.hpp"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/sm90_device.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_compressed {
namespace {

using cuda::compressed::FusedParams;

struct Kernels {
  void (*prepare)(const FusedParams&, cudaStream_t);
  void (*pass)(const FusedParams&, int, cudaStream_t);
};

Kernels kernels_of(const Problem& p) {
  using namespace cuda::compressed;
  expects(p.dtype == Dtype::bf16 || p.dtype == Dtype::fp16, "bf16 or fp16");
  const bool bf16 = p.dtype == Dtype::bf16;
  switch (p.head_dim_k) {
    case 64:
      return bf16 ? Kernels{fused_prepare_bf16_64, fused_pass_bf16_64}
                  : Kernels{fused_prepare_fp16_64, fused_pass_fp16_64};
    case 128:
      return bf16 ? Kernels{fused_prepare_bf16_128, fused_pass_bf16_128}
                  : Kernels{fused_prepare_fp16_128, fused_pass_fp16_128};
    case 192:
      return bf16 ? Kernels{fused_prepare_bf16_192, fused_pass_bf16_192}
                  : Kernels{fused_prepare_fp16_192, fused_pass_fp16_192};
    default:
      throw ContractError("expected: head dims that supports() takes");
  }
}

FusedParams params_of(const LaunchArgs& args) {
  const CompressedScoreTensors tensors = CompressedScoreTensors::of(args);
  const auto& [k, v] = tensors.kv;
  const TensorView &q = tensors.q, &o = tensors.o;
  expects(v.rows_contiguous() && o.rows_contiguous(), "dim contiguous");
  FusedParams p;
  p.score = cuda::make_score_params(args, tensors.score());
  p.v = v.data;
  p.v_row_stride = v.stride[0];
  p.v_head_stride = v.stride[1];
  p.o = o.data;
  p.o_row_stride = o.stride[0];
  p.o_head_stride = o.stride[1];
  p.q_vectors = cuda::rows_start_aligned(q);
  p.k_vectors = cuda::rows_start_aligned(k);
  p.v_vectors = cuda::rows_start_aligned(v);
  p.o_vectors = cuda::rows_start_aligned(o);
  if (tensors.lse) {
    p.lse = tensors.lse.as<float>();
    p.lse_row_stride = tensors.lse.stride[0];
    p.lse_head_stride = tensors.lse.stride[1];
  }
  return p;
}

void launch_fused(const LaunchArgs& args) {
  const Problem& problem = args.problem;
  const Kernels kernels = kernels_of(problem);
  const WorkspaceScope scope(args.workspace);
  FusedParams p = params_of(args);
  const auto image = [&](std::int64_t dim) {
    return args.workspace.take(static_cast<std::size_t>(cuda::fused_image_bytes(problem, dim)));
  };
  p.key_tiles = cuda::fused_image_tiles(problem);
  p.k_image = image(problem.head_dim_k);
  p.v_image = image(problem.head_dim_v);
  kernels.prepare(p, args.stream);
  const int processors = cuda::multiprocessors();
  for (const cuda::FusedChunk& chunk : cuda::fused_chunks(problem, args.sequences)) {
    const WorkspaceScope pass(args.workspace);
    p.first_slot = chunk.first;
    p.slots = chunk.count;
    p.tiles = chunk.tiles;
    p.scores = static_cast<std::uint16_t*>(
        args.workspace.take(static_cast<std::size_t>(cuda::fused_score_bytes(problem, chunk))));
    p.references = static_cast<float*>(
        args.workspace.take(static_cast<std::size_t>(cuda::fused_reference_bytes(problem, chunk))));
    p.totals = static_cast<float*>(
        args.workspace.take(static_cast<std::size_t>(cuda::fused_row_bytes(problem, chunk))));
    kernels.pass(p, processors, args.stream);
  }
}

}  // namespace

extern constinit const LaunchFunction kCudaFusedScore = launch_fused;

}  // namespace nsa::attend_compressed
