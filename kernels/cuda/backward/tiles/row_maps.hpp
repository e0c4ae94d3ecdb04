// Maps by which TMA brings the rows that pass by a tile of keys.
#pragma once

#include "cuda/backward/params.hpp"
#include "cuda/flash/tensor_map.hpp"

namespace nsa::cuda {

/// q and d_o by boxes of 64 columns of a group's heads, the heads of a token one after another: of
/// one query, and of as many as a tile holds. What lies outside of a tensor arrives as zeros.
struct RowMaps {
  CUtensorMap q, d_o, q_tile, d_o_tile;
};

inline RowMaps make_row_maps(const BackwardParams& p, Dtype dtype, int queries_of_tile) {
  const AttendParams& a = p.attend;
  const auto map = [&](const HeadTensor<const void>& tensor, int dim, int queries) {
    return make_tensor_map(tensor, dtype, a.tokens, a.kv_heads * a.group, dim, queries, a.group);
  };
  return {.q = map(a.q, a.dk, 1),
          .d_o = map(p.d_o, a.dv, 1),
          .q_tile = map(a.q, a.dk, queries_of_tile),
          .d_o_tile = map(p.d_o, a.dv, queries_of_tile)};
}

}  // namespace nsa::cuda
