// Maps by which TMA brings the rows that pass by a tile of keys.
#pragma once

#include <cuda.h>

#include "cuda/backward/params.hpp"

namespace nsa::cuda {

/// q and d_o by boxes of 64 columns of a group's heads, the heads of a token one after another: of
/// one query, and of as many as a tile holds. Columns, heads and tokens are the coordinates; what
/// lies outside of a tensor arrives as zeros.
struct RowMaps {
  CUtensorMap q, d_o, q_tile, d_o_tile;
};

/// Throws EnvironmentError where the driver is older than CUDA 12.0.
RowMaps make_row_maps(const BackwardParams& p, Dtype dtype, int queries_of_tile);

}  // namespace nsa::cuda
