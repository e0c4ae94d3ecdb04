// Small things that the stages' tables share.
#pragma once

#include <vector>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

inline constexpr unsigned kAllDtypes = dtype_bit(Dtype::fp64) | dtype_bit(Dtype::fp32) |
                                       dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);

/// What the CUDA rows store; sums are fp32.
inline constexpr unsigned kDeviceDtypes =
    dtype_bit(Dtype::fp32) | dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);

/// For stages between the model's width and the heads.
inline Support needs_model_dim(const Problem& problem, const Device&) noexcept {
  if (problem.model.model_dim > 0) return Support::yes();
  return Support::no("the problem has no model_dim; give one to measure the projections");
}

/// For kernels that are compiled for sm_90a alone.
inline Support needs_hopper(const Device& device) noexcept {
  const int capability = device.compute_capability.value_or(0);
  if (capability == 90) return Support::yes();
  return Support::no("its WGMMA instructions exist on compute capability 9.0 only, ", device.id,
                     " has ", capability);
}

inline std::int64_t no_workspace(const Problem&) { return 0; }

/// The rows of several tables, one table after the other.
template <class... Tables>
std::vector<Variant> rows_of(const Tables&... tables) {
  std::vector<Variant> rows;
  (rows.insert(rows.end(), tables.begin(), tables.end()), ...);
  return rows;
}

/// The rows of one stage: what they share is said once, and a row says what is its own.
struct StageRows {
  std::span<const Stage> stages;
  Cost (*cost)(const Problem&);
  Cost (*backward_cost)(const Problem&) = nullptr;  // of stages that have backward rows

  /// On a CPU: all dtypes, unless the row names some.
  constexpr Variant cpu(Variant row) const { return shared(row, cost, kAllDtypes); }
  /// On a GPU: from compute capability 8.0 on, what CUDA rows store, and no workspace, unless the
  /// row says otherwise.
  constexpr Variant cuda(Variant row) const { return shared(on_gpu(row), cost, kDeviceDtypes); }
  /// The same for rows of the backward pass.
  constexpr Variant cpu_backward(Variant row) const {
    return shared(backward(row), backward_cost, kAllDtypes);
  }
  constexpr Variant cuda_backward(Variant row) const {
    return shared(on_gpu(backward(row)), backward_cost, kDeviceDtypes);
  }

 private:
  static constexpr Variant backward(Variant row) {
    row.direction = Direction::backward;
    return row;
  }
  static constexpr Variant on_gpu(Variant row) {
    row.backend = Backend::cuda;
    if (row.min_compute_capability == 0) row.min_compute_capability = 80;
    if (!row.workspace_bytes) row.workspace_bytes = no_workspace;
    return row;
  }
  /// The cost is set once: under -fsanitize=undefined GCC 12 does not take the comparison of a
  /// function's address with null for a constant.
  constexpr Variant shared(Variant row, Cost (*usual_cost)(const Problem&), unsigned dtypes) const {
    row.stages = stages;
    if (!row.cost) row.cost = usual_cost;
    if (row.dtypes == 0) row.dtypes = dtypes;
    return row;
  }
};

}  // namespace nsa
