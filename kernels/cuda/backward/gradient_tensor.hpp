// From a gradient of a launch to what kernels get.
#pragma once

#include "cuda/backward/params.hpp"
#include "cuda/memory/alignment.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

/// An absent view: nobody wants the gradient.
inline GradientTensor gradient_tensor(const TensorView& view, bool accumulate) {
  if (!view) return {};
  expects(view.rank == 3 && view.rows_contiguous(), "a gradient [rows, heads, dim]");
  return {.data = view.data,
          .row_stride = view.stride[0],
          .head_stride = view.stride[1],
          .fp32 = view.dtype == Dtype::fp32,
          .accumulate = accumulate,
          .vectors = rows_start_aligned(view)};
}

}  // namespace nsa::cuda
