#include "cuda/backward/tiles/row_maps.hpp"

#include <cuda_runtime.h>

#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

/// As make_tensor_map of flash/tensor_map.hpp, whose boxes have one head.
CUtensorMap group_map(const HeadTensor<const void>& tensor, Dtype dtype, const AttendParams& a,
                      int dim, int queries) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    NSA_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess)
      throw EnvironmentError(
          "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
    return reinterpret_cast<Encode>(function);
  }();
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(dim),
                                static_cast<cuuint64_t>(a.kv_heads) * a.group,
                                static_cast<cuuint64_t>(a.tokens)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(tensor.head_stride) * 2,
                                static_cast<cuuint64_t>(tensor.row_stride) * 2};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(a.group), static_cast<cuuint32_t>(queries)};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result = encode(
      &map,
      dtype == Dtype::fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
      const_cast<void*>(tensor.data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  expects(result == CUDA_SUCCESS, "q and d_o that TMA can address: 16-byte strides");
  return map;
}

}  // namespace

RowMaps make_row_maps(const BackwardParams& p, Dtype dtype, int queries_of_tile) {
  const AttendParams& a = p.attend;
  return {.q = group_map(a.q, dtype, a, a.dk, 1),
          .d_o = group_map(p.d_o, dtype, a, a.dv, 1),
          .q_tile = group_map(a.q, dtype, a, a.dk, queries_of_tile),
          .d_o_tile = group_map(p.d_o, dtype, a, a.dv, queries_of_tile)};
}

}  // namespace nsa::cuda
