// Backward of y = o W_O^T by two cuBLASLt products; an o or its gradient whose heads do not lie
// one after another goes through a copy that does.
#include <array>

#include "cuda/gemm/launch.hpp"
#include "cuda/gemm/linear_backward.hpp"
#include "cuda/memory/copy_rows.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/model_backward.hpp"

namespace nsa::out_proj {
namespace {

TensorView flat_copy(const TensorView& heads, Workspace& workspace) {
  TensorView flat =
      make_view(nullptr, heads.dtype, {heads.shape[0], heads.shape[1], heads.shape[2]});
  flat.data = workspace.take(flat.bytes());
  return flat;
}

void copy(const TensorView& from, const TensorView& to, CUstream_st* stream) {
  const std::array copies{cuda::TensorCopy{from, to}};
  cuda::copy_tensors(copies, stream);
}

void launch_backward(const LaunchArgs& args, const cuda::GemmOptions& options) {
  const OutProjBackwardTensors t = OutProjBackwardTensors::of(args);
  const WorkspaceScope scope(args.workspace);
  TensorView o = t.o, d_o = t.d_o;
  if (t.d_w_o && !rows_are_flat(o)) copy(t.o, o = flat_copy(o, args.workspace), args.stream);
  const bool has_gaps = d_o && !rows_are_flat(d_o);
  if (has_gaps) d_o = flat_copy(d_o, args.workspace);
  if (has_gaps && args.adds_to(OutProjBackwardTensors::kDO)) copy(t.d_o, d_o, args.stream);
  cuda::linear_backward(
      t.d_w_o ? cuda::as_matrix(o) : TensorView{}, t.w_o, t.d_y,
      {d_o ? cuda::as_matrix(d_o) : TensorView{}, args.adds_to(OutProjBackwardTensors::kDO)},
      {t.d_w_o, args.adds_to(OutProjBackwardTensors::kDWO)}, args.workspace, args.stream, options);
  if (has_gaps) copy(d_o, t.d_o, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaGemmBackward =
    cuda::launch_product<launch_backward, false>;

}  // namespace nsa::out_proj
