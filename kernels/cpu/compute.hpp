// What all CPU variants share: the type they compute in, and scratch that can be counted first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "cpu/simd/softmax.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// Calls f.operator()<T>() with T = double for fp64 storage, else float.
template <class F>
auto with_compute_type(Dtype dtype, F&& f) {
  if (dtype == Dtype::fp64) return f.template operator()<double>();
  return f.template operator()<float>();
}

/// Stands in for a Workspace where only the bytes matter: a variant's layout function run with it
/// is the variant's workspace_bytes.
class ByteCounter {
 public:
  template <class T>
  std::span<T> take(std::int64_t count) {
    constexpr std::int64_t kAlign = 256;
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    // As Workspace::take does: nothing takes 256 bytes too.
    bytes_ += std::max<std::int64_t>((bytes + kAlign - 1) / kAlign, 1) * kAlign;
    return {};
  }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

/// Factor of q so that scores come out in units of log 2.
inline double query_scale(std::int64_t head_dim_k) {
  return kLog2E / std::sqrt(static_cast<double>(head_dim_k));
}

/// Natural log-sum-exp of a row; -inf for an empty one.
template <class T>
float lse_of(const RowSums<T>& row) {
  if (row.sum == T{0}) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(
      (static_cast<double>(row.max) + std::log2(static_cast<double>(row.sum))) * kLn2);
}

}  // namespace nsa::cpu
