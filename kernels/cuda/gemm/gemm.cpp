#include "cuda/gemm/gemm.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/gemm/cublas_lt.hpp"
#include "cuda/gemm/gemv.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

constexpr std::size_t kMostPlans = 4096;

/// One operand: strides in elements, of a row and from one matrix of a batch to the next.
struct Operand {
  std::int64_t row_stride, batch_stride;
  std::uint32_t alignment;  // of the first element, in bytes
  auto operator<=>(const Operand&) const = default;
};

/// All that the choice of an algorithm depends on.
struct Key {
  int device;
  Dtype in, out;
  GemmOptions options;
  std::int64_t batch, rows, columns, inner;
  Operand x, w, y;
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

/// What cuBLASLt proposes for a product, the best first.
using Algorithms = std::vector<cublasLtMatmulHeuristicResult_t>;
/// Lists of products by everything but the rank. Asking takes milliseconds, and who asks for one
/// rank after the first soon asks for the others.
using KnownAlgorithms = std::map<Key, Algorithms>;

/// Descriptors and algorithm of one product. cuBLASLt counts columns first: it sees w^T as it lies,
/// x as its transpose, and gives the transpose of y.
class Plan {
 public:
  Plan(cublasLtHandle_t handle, const Key& key, KnownAlgorithms& known) {
    const CublasLt& lt = cublas_lt();
    const cudaDataType_t in = type_of(key.in);
    const bool wide = key.options.w == WLayout::out_in;
    const bool turned = key.options.x == XLayout::in_rows;
    beta_ = key.options.accumulate ? 1.0f : 0.0f;
    check_blas(
        lt.desc_create(&desc_, key.options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                       CUDA_R_32F),
        "cublasLtMatmulDescCreate");
    const auto transpose = [&](cublasLtMatmulDescAttributes_t operand, bool transposed) {
      const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      check_blas(lt.desc_set(desc_, operand, &operation, sizeof(operation)),
                 "cublasLtMatmulDescSetAttribute");
    };
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, wide);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, turned);
    w_ = layout(in, wide ? key.inner : key.columns, wide ? key.columns : key.inner, key.w, key);
    x_ = layout(in, turned ? key.rows : key.inner, turned ? key.inner : key.rows, key.x, key);
    y_ = layout(type_of(key.out), key.columns, key.rows, key.y, key);
    choose(handle, key, known);
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

  void run(cublasLtHandle_t handle, float factor, const TensorView& x, const TensorView& w,
           const TensorView& y, void* workspace, CUstream_st* stream) const {
    check_blas(cublas_lt().matmul(handle, desc_, &factor, w.data, w_, x.data, x_, &beta_, y.data,
                                  y_, y.data, y_, &algorithm_, workspace, workspace_bytes_, stream),
               "cublasLtMatmul");
  }
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       const Operand& operand, const Key& key) {
    const CublasLt& lt = cublas_lt();
    cublasLtMatrixLayout_t made = nullptr;
    check_blas(
        lt.layout_create(&made, type, static_cast<std::uint64_t>(rows),
                         static_cast<std::uint64_t>(columns), std::max(operand.row_stride, rows)),
        "cublasLtMatrixLayoutCreate");
    if (key.batch == 1) return made;
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
      check_blas(lt.layout_set(made, attribute, &value, sizeof(value)),
                 "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(key.batch));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.batch_stride);
    return made;
  }

  /// The first choice is asked for alone, as a program does that never asks for another.
  void choose(cublasLtHandle_t handle, const Key& key, KnownAlgorithms& known) {
    const int rank = std::clamp(key.options.algorithm, 0, kGemmAlgorithms - 1);
    if (rank == 0) return take(propose(handle, key, 1).front());
    Key product = key;
    product.options.algorithm = 0;
    Algorithms& list = known[product];
    if (list.empty()) list = propose(handle, key, kGemmAlgorithms);
    take(list[std::min(static_cast<std::size_t>(rank), list.size() - 1)]);
  }

  void take(const cublasLtMatmulHeuristicResult_t& chosen) {
    algorithm_ = chosen.algo;
    workspace_bytes_ = chosen.workspaceSize;
  }

  /// At most `most` algorithms, and at least one.
  Algorithms propose(cublasLtHandle_t handle, const Key& key, int most) const {
    const CublasLt& lt = cublas_lt();
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_blas(lt.preference_set(preference, attribute, &value, sizeof(value)),
                 "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kGemmWorkspaceBytes));
    // Partial sums in fp32 alone, so that every algorithm rounds once.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.w.alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.x.alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.y.alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.y.alignment);
    Algorithms found(static_cast<std::size_t>(most));
    int count = 0;
    const cublasStatus_t status =
        lt.heuristic(handle, desc_, w_, x_, y_, y_, preference, most, found.data(), &count);
    lt.preference_destroy(preference);
    check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
    expects(count > 0, "a cuBLASLt algorithm for this product");
    found.resize(static_cast<std::size_t>(count));
    return found;
  }

  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, y_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
  float beta_ = 0;
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
    if (known_.size() > kMostPlans) known_.clear();
    auto& plan = plans_[key];
    if (!plan) plan = std::make_shared<const Plan>(handle, key, known_);
    return {handle, plan};
  }

 private:
  std::mutex mutex_;
  std::map<int, cublasLtHandle_t> handles_;  // never destroyed: the driver may be gone by then
  std::map<Key, std::shared_ptr<const Plan>> plans_;
  KnownAlgorithms known_;
};

Plans& plans() {
  static auto* all = new Plans;  // outlives every user
  return *all;
}

Operand operand_of(const TensorView& batch) {
  return {batch.stride[1], batch.stride[0], alignment_of(batch)};
}

TensorView as_batch(const TensorView& matrix) {
  TensorView batch = matrix;
  batch.rank = 3;
  batch.shape = {1, matrix.shape[0], matrix.shape[1], 0};
  batch.stride = {0, matrix.stride[0], matrix.stride[1], 0};
  return batch;
}

}  // namespace

const std::string& gemm_missing() { return cublas_lt().missing; }

void gemm_batched(const TensorView& x, const TensorView& w, const TensorView& y, float factor,
                  Workspace& workspace, CUstream_st* stream, const GemmOptions& options) {
  if (!gemm_missing().empty()) throw EnvironmentError(gemm_missing());
  expects(x.rank == 3 && w.rank == 3 && y.rank == 3, "batches of matrices in a product");
  const bool wide = options.w == WLayout::out_in, turned = options.x == XLayout::in_rows;
  const std::int64_t inner = w.shape[wide ? 2 : 1], columns = w.shape[wide ? 1 : 2];
  expects(
      x.shape[turned ? 1 : 2] == inner && y.shape[2] == columns &&
          y.shape[1] == x.shape[turned ? 2 : 1] && y.shape[0] == x.shape[0] &&
          w.shape[0] == x.shape[0],
      "x [batch, rows, in], w [batch, out, in], y [batch, rows, out], by the layouts asked for");
  expects(x.dtype == w.dtype && (y.dtype == x.dtype || y.dtype == Dtype::fp32),
          "x and w of one dtype, y of that or fp32");
  if (y.elements() == 0) return;
  Key key{.device = 0,
          .in = x.dtype,
          .out = y.dtype,
          .options = options,
          .batch = y.shape[0],
          .rows = y.shape[1],
          .columns = y.shape[2],
          .inner = inner,
          .x = operand_of(x),
          .w = operand_of(w),
          .y = operand_of(y)};
  NSA_CUDA(cudaGetDevice(&key.device));
  const Plans::Found found = plans().find(key);
  const WorkspaceScope scope(workspace);
  void* scratch = workspace.take(found.plan->workspace_bytes());
  found.plan->run(found.handle, factor, x, w, y, scratch, stream);
}

void gemm(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace,
          CUstream_st* stream, const GemmOptions& options) {
  expects(x.rank == 2 && w.rank == 2 && y.rank == 2, "matrices in a product");
  // One row or a few: our own kernel, unless somebody asks for one of cuBLASLt's.
  if (options == GemmOptions{} && gemv_takes(x, w, y)) return gemv(x, w, y, stream);
  gemm_batched(as_batch(x), as_batch(w), as_batch(y), 1, workspace, stream, options);
}

TensorView as_matrix(const TensorView& tensor) {
  expects(rows_are_flat(tensor), "rows whose elements lie next to one another");
  TensorView matrix = tensor;
  matrix.rank = 2;
  matrix.shape = {tensor.shape[0], row_elements(tensor), 0, 0};
  matrix.stride = {tensor.stride[0], 1, 0, 0};
  return matrix;
}

}  // namespace nsa::cuda
