#include "cuda/cublas_lt.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

/// As the loader finds it, then in the folders of a toolkit; the newest version first.
void* open_library(std::string& reason) {
  std::vector<std::string> folders{""};
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(name)) folders.push_back(std::string(root) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    for (const std::string& folder : folders) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
      if (const char* error = dlerror(); error && reason.empty()) reason = error;
    }
  }
  return nullptr;
}

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
  void* library = open_library(reason);  // never closed: handles live as long as the process
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
