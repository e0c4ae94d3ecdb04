// Answers that lie on a CUDA device: two are compared there, so that only what stands out comes to
// the host, and rows of one are fetched together. `scratch` is memory of the device. In a build
// without CUDA everything throws EnvironmentError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/tensor.hpp"
#include "nsa/kernels/workspace.hpp"

struct CUstream_st;

namespace nsa::device {

/// For each row (index of dimension 0, which all of the tensors share) of contiguous tensors on the
/// current device: how far `a` and `b` are apart in relative L2 of `a`, of integers the share that
/// differs, in the tensor where that is the most; 0 where it is no more than `tolerance`. Integers
/// that differ are always too far. Waits for the stream.
std::vector<double> row_distances(std::span<const TensorView> a, std::span<const TensorView> b,
                                  double tolerance, Workspace& scratch, CUstream_st* stream);

struct OddElements {
  std::int64_t untouched = 0, non_finite = 0;
};
/// Elements of contiguous tensors that hold `poison` in every byte where `before` holds
/// `old_poison`, and those that are NaN or infinite. Waits for the stream.
OddElements odd_elements(std::span<const TensorView> now, std::byte poison,
                         std::span<const TensorView> before, std::byte old_poison,
                         Workspace& scratch, CUstream_st* stream);

/// Those rows (indices of dimension 0) of contiguous tensors, in this order, one after another for
/// each tensor; rows that it does not have are left out. Waits for the stream.
std::vector<HostBytes> fetch_rows(std::span<const TensorView> tensors,
                                  std::span<const std::int64_t> rows, Workspace& scratch,
                                  CUstream_st* stream);

}  // namespace nsa::device
