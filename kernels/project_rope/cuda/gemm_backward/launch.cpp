// Backward of all seven projections: rotations turned back, then two cuBLASLt products over all
// tokens.
#include "cuda/gemm/launch.hpp"
#include "cuda/gemm/linear_backward.hpp"
#include "operands/model_backward.hpp"
#include "project_rope/cuda/gemm/launch.hpp"
#include "project_rope/cuda/gemm_backward/unrope.hpp"

namespace nsa::project_rope {
namespace {

void launch(const LaunchArgs& args, const cuda::GemmOptions& options) {
  const ProjectBackwardTensors t = ProjectBackwardTensors::of(args);
  const auto gradients = t.projections(args.problem);
  const Dtype dtype = args.problem.dtype;
  UnropeParams p{make_rope_params(args, gradients, dtype), nullptr, {}};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const TensorView& view = gradients[i].out;
    expects(!view || view.dtype == dtype || view.dtype == Dtype::fp32,
            "gradients in the problem's dtype or in fp32");
    p.fp32[i] = view.dtype == Dtype::fp32;
    // Pieces of the product are 16 bytes of its dtype, also where a gradient is in fp32.
    p.rope.vectors =
        p.rope.vectors && gradients[i].dim % (16 / static_cast<std::int64_t>(size_of(dtype))) == 0;
  }
  const WorkspaceScope scope(args.workspace);
  TensorView product = make_view(nullptr, dtype, {t.x.shape[0], p.rope.columns});
  p.product = product.data = args.workspace.take(product.bytes());
  p.rope.count = t.x.shape[0];
  gather_and_unrotate(p, dtype, args.stream);
  cuda::linear_backward(t.x, t.w_qkv, product, {t.d_x, args.adds_to(ProjectBackwardTensors::kDX)},
                        {t.d_w_qkv, args.adds_to(ProjectBackwardTensors::kDWQkv)}, args.workspace,
                        args.stream, options);
}

}  // namespace

extern constinit const LaunchFunction kCudaGemmBackward = cuda::launch_product<launch, false>;

}  // namespace nsa::project_rope
