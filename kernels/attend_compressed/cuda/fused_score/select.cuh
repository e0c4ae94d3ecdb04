// From the scores that the fused kernel left behind to the best blocks: a warp per query and KV
// head sums over heads what is now known to be p_slc 2^(total - reference), and takes the top n.
#pragma once

#include "attend_compressed/cuda/fused_score/item.cuh"
#include "attend_compressed/cuda/fused_score/softmax.cuh"
#include "cuda/launch/programmatic_launch.cuh"

namespace nsa::cuda::compressed {

/// Queries of a thread block: their scores fit the shared memory that needs no opting in.
template <int kPerLane>
inline constexpr int kSelectWarps = kPerLane > 32 ? 4 : 8;

/// Some neighbouring numbers in one access.
template <int kCount>
struct Neighbours;
template <>
struct Neighbours<2> {
  float x[2];
  __device__ explicit Neighbours(const float* from) {
    const float2 all = __ldcg(reinterpret_cast<const float2*>(from));
    x[0] = all.x, x[1] = all.y;
  }
};
template <>
struct Neighbours<4> {
  float x[4];
  __device__ explicit Neighbours(const float* from) {
    const float4 all = __ldcg(reinterpret_cast<const float4*>(from));
    x[0] = all.x, x[1] = all.y, x[2] = all.z, x[3] = all.w;
  }
};

template <class T>
__device__ void add_scores(float weight, const uint4& words, float (&sum)[8]) {
  sum[0] = fmaf(weight, low_score<T>(words.x), sum[0]);
  sum[1] = fmaf(weight, high_score<T>(words.x), sum[1]);
  sum[2] = fmaf(weight, low_score<T>(words.y), sum[2]);
  sum[3] = fmaf(weight, high_score<T>(words.y), sum[3]);
  sum[4] = fmaf(weight, low_score<T>(words.z), sum[4]);
  sum[5] = fmaf(weight, high_score<T>(words.z), sum[5]);
  sum[6] = fmaf(weight, low_score<T>(words.w), sum[6]);
  sum[7] = fmaf(weight, high_score<T>(words.w), sum[7]);
}

/// Group scores of 8 blocks of one tile, all heads of the group. Two to eight heads' loads are
/// under way at a time: the kernel waits for memory more than it computes.
template <class Tile>
__device__ void sum_heads(const FusedParams& p, int place, int first_row, int tile, int piece,
                          float (&sum)[8]) {
  constexpr int kStep = Tile::kGroup % 4 == 0 ? 4 : 2;
  static_assert(Tile::kGroup % kStep == 0, "an even number of heads");
  const float* totals = p.totals + std::int64_t{place} * Tile::kRows + first_row;
  const std::int64_t first = (place * p.tiles + tile) * Tile::kRows + first_row;
#pragma unroll(kStep == 4 ? 2 : 3)
  for (int h = 0; h < Tile::kGroup; h += kStep) {
    uint4 words[kStep];
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      words[i] =
          __ldcg(reinterpret_cast<const uint4*>(p.scores + (first + h + i) * kFusedBlocks) + piece);
    }
    const Neighbours<kStep> reference(p.references + first + h), total(totals + h);
#pragma unroll
    for (int i = 0; i < kStep; ++i)
      add_scores<typename Tile::Storage>(exp2_fast(reference.x[i] - total.x[i]), words[i], sum);
  }
}

/// Rows of up to 32 kPerLane blocks; the queries of a thread block are of one item.
template <class Tile, int kPerLane>
__global__ void __launch_bounds__(32 * kSelectWarps<kPerLane>, kPerLane > 32 ? 5 : 4)
    fused_select_kernel(const __grid_constant__ FusedParams p) {
  constexpr int kWarps = kSelectWarps<kPerLane>;
  __shared__ __align__(16) int all_keys[kWarps][32 * kPerLane];
  __shared__ Candidate all_scratch[kWarps][32];
  constexpr int kParts = Tile::kQueries / kWarps;
  static_assert(Tile::kQueries % kWarps == 0, "whole thread blocks");
  griddep_launch_dependents();
  griddep_wait();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_of_warp();
  const int index = static_cast<int>(blockIdx.x) / kParts;
  const int query = static_cast<int>(blockIdx.x % kParts) * kWarps + warp;
  __shared__ Item item;
  if (threadIdx.x == 0) item = item_of<Tile>(p, index);
  __syncthreads();
  if (query >= item.queries) return;
  const RowPlan plan(item.position + query, static_cast<int>(kFusedGeometry.sel_block),
                     p.score.sel_count);
  const BlockRow out = block_row(p.score, item.token + query, item.kv_head);
  write_forced(plan, out);
  if (plan.takes_all()) return write_all(plan, out);

  int* keys = all_keys[warp];
  int largest = kNoKey;
  const int tiles = (plan.end() - 1) / static_cast<int>(kFusedBlocks) + 1;
  for (int tile = lane / 4; tile < tiles; tile += 8) {
    float sum[8] = {};
    sum_heads<Tile>(p, item.place, query * Tile::kGroup, tile, lane % 4, sum);
    const int first = tile * static_cast<int>(kFusedBlocks) + 8 * (lane % 4);
    int key[8];
#pragma unroll
    for (int b = 0; b < 8; ++b) key[b] = key_of_score(sum[b]);
    if (first == 0) key[0] = kNoKey;  // forced
    if (first + 8 > plan.end()) {
#pragma unroll
      for (int b = 0; b < 8; ++b) {
        if (first + b >= plan.end()) key[b] = kNoKey;
      }
    }
#pragma unroll
    for (int b = 0; b < 8; ++b) largest = max(largest, key[b]);
    auto* to = reinterpret_cast<int4*>(keys + first);
    to[0] = make_int4(key[0], key[1], key[2], key[3]);
    to[1] = make_int4(key[4], key[5], key[6], key[7]);
  }
  __syncwarp();
  const LaneKeys<int> all(keys, plan.end());
  if (tiles < 8)
    largest = all.largest();  // some lanes had no tile: too few maxima, too low a bound
  write_best(all, largest, plan, out, all_scratch[warp]);
}

}  // namespace nsa::cuda::compressed
