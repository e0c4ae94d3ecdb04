// Copies between strided tensors on a CUDA device, many in one launch.
#pragma once

#include <span>

#include "nsa/kernels/tensor.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// to = from, both [rows, heads, dim] of one shape and dtype, dim contiguous. Copies of one call
/// run in any order, so none may write what another reads or writes.
struct TensorCopy {
  TensorView from, to;
};
void copy_tensors(std::span<const TensorCopy> copies, CUstream_st* stream);

}  // namespace nsa::cuda
