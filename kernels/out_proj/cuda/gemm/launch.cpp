// y = o W_O^T by one cuBLASLt product; an o whose heads do not lie one after another is packed.
#include <array>

#include "cpu/matrix.hpp"
#include "cuda/gemm/launch.hpp"
#include "cuda/memory/copy_rows.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/model.hpp"

namespace nsa::out_proj {
namespace {

void launch(const LaunchArgs& args, const cuda::GemmOptions& options) {
  const OutProjTensors tensors = OutProjTensors::of(args);
  const WorkspaceScope scope(args.workspace);
  TensorView o = tensors.o;
  if (!rows_are_flat(o)) {
    TensorView packed = make_view(nullptr, o.dtype, {o.shape[0], o.shape[1], o.shape[2]});
    packed.data = args.workspace.take(packed.bytes());
    const std::array copies{cuda::TensorCopy{o, packed}};
    cuda::copy_tensors(copies, args.stream);
    o = packed;
  }
  cuda::gemm(cuda::as_matrix(o), tensors.w_o, tensors.y, args.workspace, args.stream, options);
}

}  // namespace

extern constinit const LaunchFunction kCudaGemm = cuda::launch_product<launch, false>;
extern constinit const LaunchFunction kCudaGemmTf32 = cuda::launch_product<launch, true>;

}  // namespace nsa::out_proj
