// cuBLASLt as a table of functions. The toolkit's header gives the types; nothing is linked.
#pragma once

#include <cublasLt.h>

#include <source_location>
#include <string>

namespace nsa::cuda {

struct CublasLt {
  std::string missing;  // why it cannot be used; empty = it can
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtGetStatusName) status_name = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
};

/// The library of this process, opened at the first call and kept. Never throws.
const CublasLt& cublas_lt();

/// Throws CudaError with the call's name unless `status` is success.
void check_blas(cublasStatus_t status, const char* call,
                const std::source_location& where = std::source_location::current());

}  // namespace nsa::cuda
