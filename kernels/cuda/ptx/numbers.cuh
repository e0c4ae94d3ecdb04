// Storage types on the device: to fp32 or fp64 and back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa::cuda {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}

/// Two numbers as the 32 bits of one register, `low` first: one instruction.
template <class T>
__device__ std::uint32_t pack_pair(float low, float high);
template <>
__device__ inline std::uint32_t pack_pair<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
template <>
__device__ inline std::uint32_t pack_pair<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// Calls f with a value of the storage type of `dtype`.
template <class F>
void with_storage_type(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::fp32:
      return f(float{});
    case Dtype::bf16:
      return f(__nv_bfloat16{});
    case Dtype::fp16:
      return f(__half{});
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

}  // namespace nsa::cuda
