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

/// A stage's rows of both back ends, CPU first.
inline std::vector<Variant> both_back_ends(std::span<const Variant> cpu,
                                           std::span<const Variant> cuda) {
  std::vector<Variant> rows(cpu.begin(), cpu.end());
  rows.insert(rows.end(), cuda.begin(), cuda.end());
  return rows;
}

inline std::int64_t no_workspace(const Problem&) { return 0; }

}  // namespace nsa
