// Kernels that have a function per storage type, each compiled in a file of its own.
#pragma once

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa::cuda {

/// `Function` is a pointer to a function, the same for all types.
template <class Function>
struct TypedKernels {
  Function fp32, bf16, fp16;

  Function of(Dtype dtype) const {
    switch (dtype) {
      case Dtype::fp32:
        return fp32;
      case Dtype::bf16:
        return bf16;
      case Dtype::fp16:
        return fp16;
      default:
        throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
    }
  }
};
template <class Function>
TypedKernels(Function, Function, Function) -> TypedKernels<Function>;

}  // namespace nsa::cuda
