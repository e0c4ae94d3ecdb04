#include "cuda/flash/tensor_map.hpp"

#include <cuda_runtime.h>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, asked for at run time: the program starts without a driver.
Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  NSA_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                            cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw EnvironmentError("the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
  }
  return reinterpret_cast<Encode>(function);
}

}  // namespace

CUtensorMap make_tensor_map(const HeadTensor<const void>& tensor, Dtype dtype, std::int64_t rows,
                            int heads, int dim, int box_rows, int box_heads) {
  static const Encode encode = find_encode();
  constexpr cuuint64_t kBytes = 2;
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(dim), static_cast<cuuint64_t>(heads),
                                static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(tensor.head_stride) * kBytes,
                                static_cast<cuuint64_t>(tensor.row_stride) * kBytes};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_heads),
                            static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = encode(
      &map,
      dtype == Dtype::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
      const_cast<void*>(tensor.data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  expects(result == CUDA_SUCCESS, "a tensor that TMA can address: 16-byte strides");
  return map;
}

}  // namespace nsa::cuda
