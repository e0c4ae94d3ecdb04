// Two answers that lie on a CUDA device, compared there: only what stands out comes to the host. In
// a build without CUDA everything throws EnvironmentError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/tensor.hpp"

struct CUstream_st;

namespace nsa::device {

/// For each row (index of dimension 0, which all of the tensors share) of contiguous tensors on the
/// current device: how far `a` and `b` are apart in relative L2 of `a`, of integers the share that
/// differs, in the tensor where that is the most; 0 where it is no more than `tolerance`. Integers
/// that differ are always too far. Waits for the stream.
std::vector<double> row_distances(std::span<const TensorView> a, std::span<const TensorView> b,
                                  double tolerance, CUstream_st* stream);

struct OddElements {
  std::int64_t untouched = 0, non_finite = 0;
};
/// Elements of contiguous tensors that hold `poison` in every byte where `before` holds
/// `old_poison`, and those that are NaN or infinite. Waits for the stream.
OddElements odd_elements(std::span<const TensorView> now, std::byte poison,
                         std::span<const TensorView> before, std::byte old_poison,
                         CUstream_st* stream);

}  // namespace nsa::device
