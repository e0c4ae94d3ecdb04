// Of a chunk of queries, which of them chose a block: lists in the order of the queries, so that
// whatever follows them adds up in the same order every time.
#pragma once

#include "cuda/backward/items.hpp"
#include "cuda/backward/params.hpp"

namespace nsa::cuda {

struct ListParams {
  BackwardParams backward;
  ListedItems items;                // lists and runs are written
  std::uint32_t* bits = nullptr;    // [kv_heads, table, words]: who chose a block
  int* counts = nullptr;            // [kv_heads, table]: how many did
  int* before = nullptr;            // [kv_heads, table, words]: entries in front of a word's
  unsigned char* picked = nullptr;  // [chunk, kv_heads, sel_count]: 1 where a pick counts
  std::int64_t first_token = 0;
  int queries = 0, words = 0, run_queries = 0;  // of this chunk; of a row of bits; of a run
};

void make_lists(const ListParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
