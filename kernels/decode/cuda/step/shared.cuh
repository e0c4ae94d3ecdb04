// Shared memory of a block of the decode step, and what other blocks of its cluster read from it.
#pragma once

#include <cooperative_groups.h>

#include "cuda/launch/launch.cuh"
#include "decode/cuda/step/params.hpp"
#include "score/cuda/top_blocks.cuh"

namespace nsa::cuda::step {

enum Branch : int { kCompressed = 0, kSelected = 1, kWindow = 2 };

/// Of one block. o, m, l are of the keys that this block takes, not divided by l yet.
struct Shared {
  float* q;              // [group, padded_dk] times the scale
  void* queries;         // [16 for each 16 heads, padded_dk + kQueryGap] as stored
  float* logits;         // [group, share] of the compressed keys
  float* weights;        // [group, keys] of the branch at hand
  float* shares;         // [share] of the compressed keys: weights summed over the heads
  float* scores;         // [blocks]
  float* o;              // [3, group, dv]
  float* m;              // [3, group] row max
  float* l;              // [3, group] sum of weights
  float* factors;        // [3, group, kMostRanks]: what a block's o counts
  float* row_max;        // [group] over the cluster, compressed keys; then [group] 1 / sum
  float* partial;        // [kWarps, kHeads, kColumns], at the end [3, columns of o of a block]
  float* hidden;         // [padded_dk + hidden] mean query, hidden units
  float* gates;          // [4]
  std::int32_t* blocks;  // [sel_count]
  Candidate* scratch;    // [32]
};

__device__ inline Shared shared_of(const Layout& layout) {
  Shared s;
  auto* at = reinterpret_cast<float*>(dynamic_shared());
  float** parts[]{&s.q, &s.logits,  &s.weights, &s.shares,  &s.scores, &s.o,    &s.m,
                  &s.l, &s.factors, &s.row_max, &s.partial, &s.hidden, &s.gates};
  const PartSizes sizes(layout);
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    *parts[i] = at;
    at += sizes.floats[i];
  }
  s.queries = at;
  at += query_floats(layout);
  s.scratch = reinterpret_cast<Candidate*>(at);
  s.blocks = reinterpret_cast<std::int32_t*>(at + 2 * 32);
  return s;
}

}  // namespace nsa::cuda::step
