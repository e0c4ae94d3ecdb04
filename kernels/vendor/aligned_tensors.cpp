#include "vendor/aligned_tensors.hpp"

#include <array>

#include "cuda/memory/alignment.hpp"
#include "cuda/memory/copy_rows.hpp"

namespace nsa::vendor {
namespace {

TensorView room_for(const TensorView& tensor, Workspace& workspace) {
  TensorView packed =
      make_view(nullptr, tensor.dtype, {tensor.shape[0], tensor.shape[1], tensor.shape[2]});
  packed.data = workspace.take(packed.bytes());
  return packed;
}

TensorView aligned(const TensorView& tensor, const LaunchArgs& args) {
  expects(tensor.rank == 3 && tensor.rows_contiguous(), "a tensor [rows, heads, dim]");
  if (cuda::rows_are_vectors(tensor)) return tensor;
  args.fall_back("copied_unaligned_rows");
  const TensorView packed = room_for(tensor, args.workspace);
  const std::array copies{cuda::TensorCopy{tensor, packed}};
  cuda::copy_tensors(copies, args.stream);
  return packed;
}

}  // namespace

BranchTensors aligned_tensors(const LaunchArgs& args, bool contiguous_output) {
  expects(args.in.size() == 3 && args.out.size() == 1, "q, k and v, and one output");
  const TensorView& o = args.out[0];
  const bool fits = cuda::rows_are_vectors(o) && (!contiguous_output || o.contiguous());
  return {aligned(args.in[0], args), aligned(args.in[1], args), aligned(args.in[2], args),
          fits ? o : room_for(o, args.workspace)};
}

void give_back(const BranchTensors& tensors, const LaunchArgs& args) {
  if (tensors.o.data == args.out[0].data) return;
  const std::array copies{cuda::TensorCopy{tensors.o, args.out[0]}};
  cuda::copy_tensors(copies, args.stream);
}

}  // namespace nsa::vendor
