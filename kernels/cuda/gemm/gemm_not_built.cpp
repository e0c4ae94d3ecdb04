#include "cuda/gemm/gemm.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

const std::string& gemm_missing() {
  static const std::string reason = "this program was built without CUDA";
  return reason;
}

void gemm(const TensorView&, const TensorView&, const TensorView&, Workspace&, CUstream_st*,
          const GemmOptions&) {
  throw EnvironmentError(gemm_missing());
}

void gemm_batched(const TensorView&, const TensorView&, const TensorView&, float, Workspace&,
                  CUstream_st*, const GemmOptions&) {
  throw EnvironmentError(gemm_missing());
}

TensorView as_matrix(const TensorView& tensor) { return tensor; }

}  // namespace nsa::cuda
