#include "cuda/gemm.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/cublas_lt.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"
#include "out_proj/matrix.hpp"

namespace nsa::cuda {
namespace {

constexpr std::size_t kMostPlans = 4096;

/// All that the choice of an algorithm depends on.
struct Key {
  int device;
  Dtype in, out;
  std::int64_t rows, columns, inner, x_stride, w_stride, y_stride;
  std::uint32_t x_alignment, w_alignment, y_alignment;  // of the first element, in bytes
  auto operator<=>(const Key&) const = default;
};

cudaDataType_t type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return CUDA_R_32F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    case Dtype::fp16:
      return CUDA_R_16F;
    default:
      throw ContractError("expected: fp32, bf16 or fp16 in a product on a CUDA device");
  }
}

std::uint32_t alignment_of(const TensorView& tensor) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  const std::uintptr_t largest = address & (~address + 1);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(largest, 256));
}

/// Descriptors and algorithm of one product. cuBLASLt counts columns first: it sees W^T as it lies,
/// x as its transpose, and gives the transpose of y.
class Plan {
 public:
  Plan(cublasLtHandle_t handle, const Key& key) {
    const CublasLt& lt = cublas_lt();
    const cudaDataType_t in = type_of(key.in);
    check_blas(lt.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check_blas(lt.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)),
               "cublasLtMatmulDescSetAttribute");
    w_ = layout(in, key.inner, key.columns, key.w_stride);
    x_ = layout(in, key.inner, key.rows, key.x_stride);
    y_ = layout(type_of(key.out), key.columns, key.rows, key.y_stride);
    choose(handle, key);
  }
  ~Plan() {
    const CublasLt& lt = cublas_lt();
    for (const cublasLtMatrixLayout_t layout : {w_, x_, y_}) {
      if (layout) lt.layout_destroy(layout);
    }
    if (desc_) lt.desc_destroy(desc_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void run(cublasLtHandle_t handle, const TensorView& x, const TensorView& w, const TensorView& y,
           void* workspace, CUstream_st* stream) const {
    constexpr float kOne = 1, kZero = 0;
    check_blas(cublas_lt().matmul(handle, desc_, &kOne, w.data, w_, x.data, x_, &kZero, y.data, y_,
                                  y.data, y_, &algorithm_, workspace, workspace_bytes_, stream),
               "cublasLtMatmul");
  }
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t stride) {
    cublasLtMatrixLayout_t made = nullptr;
    check_blas(
        cublas_lt().layout_create(&made, type, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(columns), std::max(stride, rows)),
        "cublasLtMatrixLayoutCreate");
    return made;
  }

  void choose(cublasLtHandle_t handle, const Key& key) {
    const CublasLt& lt = cublas_lt();
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_blas(lt.preference_set(preference, attribute, &value, sizeof(value)),
                 "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto most = static_cast<std::uint64_t>(kGemmWorkspaceBytes);
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.w_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.x_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.y_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.y_alignment);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        lt.heuristic(handle, desc_, w_, x_, y_, y_, preference, 1, &found, &count);
    lt.preference_destroy(preference);
    check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
    expects(count == 1, "a cuBLASLt algorithm for this product");
    algorithm_ = found.algo;
    workspace_bytes_ = found.workspaceSize;
  }

  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, y_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
};

/// Handles and plans of the process: what a product costs to set up is paid once per shape.
class Plans {
 public:
  struct Found {
    cublasLtHandle_t handle;
    std::shared_ptr<const Plan> plan;
  };
  Found find(const Key& key) {
    const std::lock_guard lock(mutex_);
    cublasLtHandle_t& handle = handles_[key.device];
    if (!handle) check_blas(cublas_lt().create(&handle), "cublasLtCreate");
    if (plans_.size() > kMostPlans) plans_.clear();  // those in use live on
    auto& plan = plans_[key];
    if (!plan) plan = std::make_shared<const Plan>(handle, key);
    return {handle, plan};
  }

 private:
  std::mutex mutex_;
  std::map<int, cublasLtHandle_t> handles_;  // never destroyed: the driver may be gone by then
  std::map<Key, std::shared_ptr<const Plan>> plans_;
};

Plans& plans() {
  static auto* all = new Plans;  // outlives every user
  return *all;
}

}  // namespace

const std::string& gemm_missing() { return cublas_lt().missing; }

void gemm(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace,
          CUstream_st* stream) {
  if (!gemm_missing().empty()) throw EnvironmentError(gemm_missing());
  expects(x.rank == 2 && w.rank == 2 && y.rank == 2, "matrices in a product");
  expects(x.shape[1] == w.shape[1] && y.shape[1] == w.shape[0] && y.shape[0] == x.shape[0],
          "x [rows, in], w [out, in], y [rows, out]");
  expects(x.dtype == w.dtype && (y.dtype == x.dtype || y.dtype == Dtype::fp32),
          "x and w of one dtype, y of that or fp32");
  if (y.elements() == 0) return;
  Key key{0,           x.dtype,     y.dtype,     y.shape[0],      y.shape[1],      x.shape[1],
          x.stride[0], w.stride[0], y.stride[0], alignment_of(x), alignment_of(w), alignment_of(y)};
  NSA_CUDA(cudaGetDevice(&key.device));
  const Plans::Found found = plans().find(key);
  const WorkspaceScope scope(workspace);
  void* scratch = workspace.take(found.plan->workspace_bytes());
  found.plan->run(found.handle, x, w, y, scratch, stream);
}

TensorView as_matrix(const TensorView& tensor) {
  expects(rows_are_flat(tensor), "rows whose elements lie behind one another");
  TensorView matrix = tensor;
  matrix.rank = 2;
  matrix.shape = {tensor.shape[0], row_elements(tensor), 0, 0};
  matrix.stride = {tensor.stride[0], 1, 0, 0};
  return matrix;
}

}  // namespace nsa::cuda
