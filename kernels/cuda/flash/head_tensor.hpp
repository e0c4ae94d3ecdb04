// From a tensor of a launch to what kernels get.
#pragma once

#include "cuda/flash/attend_params.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

/// `vectors`: as HeadTensor has it, where the kernel asks for it.
template <class T>
HeadTensor<T> head_tensor(const TensorView& view, bool vectors = false) {
  expects(view.rank == 3 && view.rows_contiguous(), "a tensor [rows, heads, dim], dim contiguous");
  return {view.data, view.stride[0], view.stride[1], vectors};
}

}  // namespace nsa::cuda
