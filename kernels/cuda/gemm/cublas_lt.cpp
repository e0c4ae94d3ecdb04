#include "cuda/gemm/cublas_lt.hpp"

#include <dlfcn.h>

#include "cuda/library/open_library.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

/// Looks functions up until one is missing.
class Loader {
 public:
  Loader(void* library, std::string& missing) : library_(library), missing_(missing) {}
  template <class Function>
  void operator()(Function& function, const char* name) {
    if (!missing_.empty()) return;
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function) missing_.append("cuBLASLt has no ").append(name);
  }

 private:
  void* library_;
  std::string& missing_;
};

CublasLt load() {
  CublasLt lt;
  std::string reason;
  void* library =
      open_library({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, reason);
  if (!library) {
    lt.missing = "needs cuBLASLt of the CUDA toolkit: " + reason;
    return lt;
  }
  Loader find(library, lt.missing);
  find(lt.create, "cublasLtCreate");
  find(lt.desc_create, "cublasLtMatmulDescCreate");
  find(lt.desc_destroy, "cublasLtMatmulDescDestroy");
  find(lt.desc_set, "cublasLtMatmulDescSetAttribute");
  find(lt.layout_create, "cublasLtMatrixLayoutCreate");
  find(lt.layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(lt.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(lt.preference_create, "cublasLtMatmulPreferenceCreate");
  find(lt.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(lt.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(lt.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(lt.matmul, "cublasLtMatmul");
  find(lt.status_name, "cublasLtGetStatusName");
  find(lt.status_string, "cublasLtGetStatusString");
  return lt;
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt lt = load();
  return lt;
}

void check_blas(cublasStatus_t status, const char* call, const std::source_location& where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const CublasLt& lt = cublas_lt();
  throw CudaError(static_cast<int>(status), lt.status_name(status), lt.status_string(status), call,
                  where);
}

}  // namespace nsa::cuda
