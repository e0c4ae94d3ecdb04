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

}  // namespace

TensorView aligned(const TensorView& tensor, const LaunchArgs& args) {
  expects(tensor.rank == 3 && tensor.rows_contiguous(), "a tensor [rows, heads, dim]");
  if (cuda::rows_are_vectors(tensor)) return tensor;
  args.fall_back("copied_unaligned_rows");
  const TensorView packed = room_for(tensor, args.workspace);
  const std::array copies{cuda::TensorCopy{tensor, packed}};
  cuda::copy_tensors(copies, args.stream);
  return packed;
}

BandTensors aligned_tensors(const LaunchArgs& args, Branch branch, bool contiguous_output) {
  BandTensors tensors = BandTensors::of(args, branch);
  const TensorView& o = tensors.o;
  const bool fits = cuda::rows_are_vectors(o) && (!contiguous_output || o.contiguous());
  tensors.q = aligned(tensors.q, args);
  tensors.kv = {.k = aligned(tensors.kv.k, args), .v = aligned(tensors.kv.v, args)};
  if (!fits) tensors.o = room_for(o, args.workspace);
  return tensors;
}

void give_back(const BandTensors& tensors, const LaunchArgs& args) {
  const TensorView& o = args.out[0];
  if (tensors.o.data == o.data) return;
  const std::array copies{cuda::TensorCopy{tensors.o, o}};
  cuda::copy_tensors(copies, args.stream);
}

}  // namespace nsa::vendor
