// Maps that tell TMA where a tensor [rows, heads, dim] lies.
#pragma once

#include <cuda.h>

#include "cuda/flash/attend_params.hpp"

namespace nsa::cuda {

/// Of boxes of `box_rows` rows of `box_heads` heads and 64 columns of 16 bits, which arrive with
/// 128-byte rows, the heads of a row one after another, and the 128-byte swizzle; what lies outside
/// of the tensor arrives as zeros. Columns, heads and rows are the coordinates. Rows have to start
/// at multiples of 16 bytes. Throws EnvironmentError where the driver is older than CUDA 12.0.
CUtensorMap make_tensor_map(const HeadTensor<const void>& tensor, Dtype dtype, std::int64_t rows,
                            int heads, int dim, int box_rows, int box_heads = 1);

/// K and V of a launch by boxes of some keys of one head.
struct KeyMaps {
  CUtensorMap k, v;
};
inline KeyMaps make_key_maps(const AttendParams& p, Dtype dtype, int box_rows) {
  return {.k = make_tensor_map(p.k, dtype, p.context_tokens, p.kv_heads, p.dk, box_rows),
          .v = make_tensor_map(p.v, dtype, p.context_tokens, p.kv_heads, p.dv, box_rows)};
}

}  // namespace nsa::cuda
