// Scores and selection of a decode step (docs/nsa.md 4 and 5), by all blocks of a cluster: each has
// the logits of its share of the compressed keys, and reads the others' results from their shared
// memory. Equal logits give equal scores whichever block has them, so ties are exact.
#pragma once

#include "decode/cuda/step/tiles.cuh"

namespace nsa::cuda::step {

namespace cg = cooperative_groups;

/// Parts of shared memory of a branch, for make_factors.
struct Sums {
  float *m, *l, *factors;  // [group], [group], [group, kMostRanks]
  float* row_max;          // [group], then [group] 1 / sum; null = not wanted
};
__device__ inline Sums sums_of(const Params& p, const Shared& s, Branch branch) {
  const int first = branch * p.group;
  return {s.m + first, s.l + first, s.factors + first * kMostRanks,
          branch == kCompressed ? s.row_max : nullptr};
}

/// What each block's o counts once all blocks are put together, and the sums of the branch.
/// A warp per head: lane r reads what block r has. One copy of the code: it runs once in a launch,
/// so that what it costs is its way into the instruction cache.
__device__ __noinline__ inline void make_factors(Sums s, int group, int ranks) {
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = lane_of_warp();
#pragma unroll 1
  for (int head = static_cast<int>(threadIdx.x) / 32; head < group; head += kWarps) {
    float m = -INFINITY, l = 0;
    if (rank < ranks) {
      m = *cluster.map_shared_rank(s.m + head, rank);
      l = *cluster.map_shared_rank(s.l + head, rank);
    }
    float row_max = m;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      row_max = fmaxf(row_max, __shfl_xor_sync(kWholeWarp, row_max, step));
    const float factor = l > 0 || l != l ? exp2_fast(m - row_max) : 0.0f;
    float sum = factor * l;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, step);
    const float inverse = sum > 0 || sum != sum ? 1.0f / sum : 0.0f;  // NaN stays
    if (rank < ranks) s.factors[head * kMostRanks + rank] = factor * inverse;
    if (!s.row_max || rank > 0) continue;
    s.row_max[head] = row_max;
    s.row_max[group + head] = inverse;
  }
}

/// The compressed keys of a block: `count` from `first` on.
struct Share {
  int each, first, count;
  __device__ Share(int visible, int ranks, int rank) {
    each = (visible + ranks * kRowsAtOnce - 1) / (ranks * kRowsAtOnce) * kRowsAtOnce;
    first = min(rank * each, visible);
    count = min(each, visible - first);
  }
};

/// Weights of this block's compressed keys, summed over the heads in order.
__device__ inline void sum_over_heads(const Params& p, const Shared& s, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    float sum = 0;
    for (int head = 0; head < p.group; ++head) {
      const float weight = exp2_fast(s.logits[head * p.layout.share + i] - s.row_max[head]);
      sum += weight * s.row_max[p.group + head];
    }
    s.shares[i] = sum;
  }
}

/// Scores of the candidates 1 .. end - 1, all of them in every block of the cluster.
__device__ inline void gather_scores(const Params& p, Shared& s, const Share& share, int visible,
                                     int end) {
  const cg::cluster_group cluster = cg::this_cluster();
  const float part = 1.0f / static_cast<float>(p.cmp_block);
  for (int j = 1 + static_cast<int>(threadIdx.x); j < end; j += kThreads) {
    const int begin = j * p.sel_block, behind = begin + p.sel_block;
    const int first = begin < p.cmp_block ? 0 : (begin - p.cmp_block) / p.cmp_stride + 1;
    const int last = min((behind - 1) / p.cmp_stride, visible - 1);
    int rank = first / max(share.each, 1), at = first - rank * share.each;
    float score = 0;
    for (int c = first; c <= last; ++c) {
      const float weight = *cluster.map_shared_rank(s.shares + at, rank);
      const int from = max(c * p.cmp_stride, begin);
      const int to = min(c * p.cmp_stride + p.cmp_block, behind);
      score += weight * (static_cast<float>(to - from) * part);
      const bool over = ++at == share.each;  // a division for each would take longer
      at = over ? 0 : at;
      rank += over;
    }
    s.scores[j] = score;
  }
}

/// The selected blocks of one query into s.blocks. Where every block is taken, nothing is scored:
/// the plan is the same for the whole cluster. Ends with a barrier of the block.
__device__ inline void select_blocks(const Params& p, Shared& s, const Share& share, int visible,
                                     std::int64_t position) {
  const RowPlan plan(position, p.sel_block, p.sel_count);
  const BlockRow row{s.blocks, 1, nullptr, 0};
  if (!plan.takes_all()) {
    sum_over_heads(p, s, share.count);
    cg::this_cluster().sync();
    gather_scores(p, s, share, visible, plan.end());
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    write_forced(plan, row);
    if (plan.takes_all()) {
      write_all(plan, row);
    } else {
      const LaneKeys<float> keys(s.scores, plan.end());
      write_best(keys, keys.largest(), plan, row, s.scratch);
    }
  }
  __syncthreads();
}

}  // namespace nsa::cuda::step
