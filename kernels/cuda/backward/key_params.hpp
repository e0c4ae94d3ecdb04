// What the kernels of the gradients of K and V get beside their items, and where their sums lie.
#pragma once

#include "cuda/backward/params.hpp"

namespace nsa::cuda {

/// How the gradient of q comes about.
enum class QueryGradient : int {
  apart,    // by a kernel of its own
  partial,  // a row for every pick of a query, added up afterwards
  atomic,   // added to `d_q_sum` by atomic operations
};

struct KeyOutputs {
  float* sums = nullptr;  // [places, keys of a tile, width of K + width of V], K's not scaled yet
  QueryGradient query = QueryGradient::apart;
  std::int64_t first_token = 0;  // of the chunk that entries count from
  int picks = 0;                 // of a query: sel_count times the tiles of a block
  int tiles_of_block = 1;
  /// [chunk, kv_heads, picks, group, width of K], in the storage type, columns as a thread holds
  /// them (partial_column), or in fp32, in order.
  void* partial = nullptr;
  float* d_q_sum = nullptr;  // [tokens, q_heads, width of K]
};

/// Place p of a row of partial results by tensor cores is this column.
constexpr int partial_column(int p) { return p / 32 * 32 + p % 8 / 2 * 8 + p / 8 % 4 * 2 + p % 2; }

}  // namespace nsa::cuda
