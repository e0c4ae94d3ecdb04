// 2^x by the special function unit, two ulp (PTX ISA, "ex2"): what the softmax of the tensor-core
// kernels is made of.
#pragma once

namespace nsa::cuda {

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Stays where it stands, in front of a wait: for a softmax that is to run beside a product.
__device__ inline float exp2_in_place(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace nsa::cuda
