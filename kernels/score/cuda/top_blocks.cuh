// The best blocks of one query by one warp, exactly (docs/nsa.md 5): score descending, ties to the
// lower index, NaN last, the forced blocks beside them, ascending, -1 in front. Scores are sums of
// probabilities, so never negative: their bits order as they do.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace nsa::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % 32; }

/// Orders as the score does, NaN below every number, and above kNoKey.
__device__ inline int key_of_score(float score) { return __float_as_int(fmaxf(score, -1.0f)); }
inline constexpr int kNoKey = -0x7fffffff - 1;

/// The candidates of a row, 1 .. end - 1, are shared out evenly: a lane has `each` in a row, an odd
/// number, so that lanes that read theirs from shared memory in step meet in no bank.
struct LaneShare {
  int first, count, each;  // this lane's are first .. first + count - 1
  __device__ explicit LaneShare(int end) {
    each = (end - 1 + 31) / 32 | 1;
    first = 1 + lane_of_warp() * each;
    count = min(max(end - first, 0), each);
  }
};

__device__ inline int as_key(int key) { return key; }
__device__ inline int as_key(float score) { return key_of_score(score); }
__device__ inline int as_key(__nv_bfloat16 score) { return key_of_score(__bfloat162float(score)); }

/// A lane's keys, read from shared or global memory every time: a row of any length. `T` is int for
/// keys, float or bf16 for scores.
template <class T>
struct LaneKeys {
  LaneShare share;
  const T* row;  // [blocks]
  __device__ LaneKeys(const T* all, int end) : share(end), row(all) {}
  /// Calls f(block, key) in ascending order of blocks.
  template <class F>
  __device__ void for_each(F f) const {
#pragma unroll 4
    for (int i = share.first; i < share.first + share.count; ++i) f(i, as_key(row[i]));
  }
  __device__ int largest() const {
    int most = kNoKey;
    for_each([&](int, int key) { most = max(most, key); });
    return most;
  }
};

/// Sum of what the lanes before this one have; `total` of all.
__device__ inline int sum_before(int mine, int& total) {
  int sum = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kWholeWarp, sum, step);
    if (lane_of_warp() >= step) sum += other;
  }
  total = __shfl_sync(kWholeWarp, sum, 31);
  return sum - mine;
}

/// The picks-th largest of 32 numbers, one per lane (bitonic sort, descending).
__device__ inline int nth_of_lanes(int mine, int picks) {
  const int lane = lane_of_warp();
#pragma unroll
  for (int size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (int step = size / 2; step > 0; step /= 2) {
      const int other = __shfl_xor_sync(kWholeWarp, mine, step);
      const bool larger = ((lane & size) == 0) == ((lane & step) == 0);
      mine = larger ? max(mine, other) : min(mine, other);
    }
  }
  return __shfl_sync(kWholeWarp, mine, picks - 1);
}

/// Where the row of blocks of one query goes; `saved` may be null.
struct BlockRow {
  std::int32_t* out;
  std::int64_t stride;
  std::int32_t* saved;
  std::int64_t saved_stride;
  __device__ void set(int i, int block) const {
    out[i * stride] = block;
    if (saved) saved[i * saved_stride] = block;
  }
};

/// Places of a row: unused ones first, then block 0, the picks, and the last two.
struct RowPlan {
  int current, candidates, picks, unused, sel_count;
  __device__ RowPlan(std::int64_t position, int sel_block, int count) {
    current = static_cast<int>(position / sel_block);
    const int forced = min(current + 1, 3);
    candidates = max(current - 2, 0);
    picks = min(candidates, count - forced);
    unused = count - forced - picks;
    sel_count = count;
  }
  __device__ bool takes_all() const { return picks == candidates; }
  /// Candidates are blocks 1 .. end() - 1.
  __device__ int end() const { return candidates + 1; }
};

/// Writes all of the row but the picks.
__device__ inline void write_forced(const RowPlan& plan, const BlockRow& row) {
  const int lane = lane_of_warp();
  for (int i = lane; i < plan.unused; i += 32) row.set(i, -1);
  if (lane == 0) row.set(plan.unused, 0);
  if (lane == 1 && plan.current > 1) row.set(plan.sel_count - 2, plan.current - 1);
  if (lane == 2 && plan.current > 0) row.set(plan.sel_count - 1, plan.current);
}

/// The picks where every candidate is one.
__device__ inline void write_all(const RowPlan& plan, const BlockRow& row) {
  for (int i = lane_of_warp(); i < plan.picks; i += 32) row.set(plan.unused + 1 + i, 1 + i);
}

/// The picks of any row: the picks-th largest key is found bit by bit; what is above it is taken,
/// and of what equals it the lowest indices.
template <class T>
__device__ void write_best_by_bits(const LaneKeys<T>& keys, const RowPlan& plan,
                                   const BlockRow& row) {
  unsigned threshold = 0;  // of keys shifted to be unsigned
  for (unsigned bit = 1u << 31; bit; bit >>= 1) {
    int count = 0;
    keys.for_each([&](int, int key) {
      count += (static_cast<unsigned>(key) ^ 1u << 31) >= (threshold | bit);
    });
    if (__reduce_add_sync(kWholeWarp, count) >= plan.picks) threshold |= bit;
  }
  const int least = static_cast<int>(threshold ^ 1u << 31);
  int above = 0, equal = 0, all_above = 0, all_equal = 0;
  keys.for_each([&](int, int key) {
    above += key > least;
    equal += key == least;
  });
  const int ties_before = sum_before(equal, all_equal), above_before = sum_before(above, all_above);
  const int ties = plan.picks - all_above;
  int place = plan.unused + 1 + above_before + min(ties_before, ties), tie = ties_before;
  keys.for_each([&](int block, int key) {
    if (key > least || (key == least && tie++ < ties)) row.set(place++, block);
  });
}

/// A candidate that may be among the best.
struct Candidate {
  int key, block;
};

/// Lanes whose key is among the picks of 32 keys in ascending order of blocks, ties to the lower
/// lane. The middle of the range is tried until it parts them; where ties keep it from that,
/// sorting does.
__device__ inline unsigned best_of_lanes(int key, int picks) {
  const int lane = lane_of_warp();
  int low = __reduce_min_sync(kWholeWarp, key == kNoKey ? 0x7fffffff : key);
  int high = __reduce_max_sync(kWholeWarp, key);
  unsigned reach = __ballot_sync(kWholeWarp, key != kNoKey);
  if (__popc(reach) <= picks) return reach;
  for (int i = 0; i < 12 && low < high; ++i) {
    const int middle = low + static_cast<int>((static_cast<unsigned>(high) - low + 1) / 2);
    reach = __ballot_sync(kWholeWarp, key >= middle);
    if (__popc(reach) == picks) return reach;
    if (__popc(reach) > picks) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const int least = nth_of_lanes(key, picks);
  const unsigned above = __ballot_sync(kWholeWarp, key > least);
  const unsigned equal = __ballot_sync(kWholeWarp, key == least);
  const unsigned before = (1u << lane) - 1;
  const bool tie = key == least && __popc(equal & before) < picks - __popc(above);
  return __ballot_sync(kWholeWarp, key > least || tie);
}

/// A number that `picks` or more of the lanes' keys reach, near to the picks-th largest.
__device__ inline int bound_of_lanes(int key, int picks) {
  if (__popc(__ballot_sync(kWholeWarp, key != kNoKey)) < picks) return kNoKey + 1;
  int low = __reduce_min_sync(kWholeWarp, key == kNoKey ? 0x7fffffff : key);
  int high = __reduce_max_sync(kWholeWarp, key);
  for (int i = 0; i < 8 && low < high; ++i) {
    const int middle = low + static_cast<int>((static_cast<unsigned>(high) - low + 1) / 2);
    const int count = __popc(__ballot_sync(kWholeWarp, key >= middle));
    if (count >= picks) {
      low = middle;
    } else {
      high = middle - 1;
    }
    if (count == picks) break;
  }
  return low;
}

/// The picks, faster: of 32 maxima of some of the candidates each, the picks-th largest bounds the
/// threshold from below, and most often 32 keys or fewer reach the bound. `largest` is the lane's
/// maximum; `scratch` [32] is the warp's own shared memory.
template <class T>
__device__ void write_best(const LaneKeys<T>& keys, int largest, const RowPlan& plan,
                           const BlockRow& row, Candidate* scratch) {
  if (plan.picks <= 0) return;
  if (plan.picks > 32) return write_best_by_bits(keys, plan, row);
  const int lane = lane_of_warp();
  Candidate mine{kNoKey, 1 + lane};
  if (plan.candidates <= 32) {
    if (lane < plan.candidates) mine.key = as_key(keys.row[mine.block]);
  } else {
    const int bound = bound_of_lanes(largest, plan.picks);
    int count = 0, total = 0;
    keys.for_each([&](int, int key) { count += key >= bound; });
    Candidate* to = scratch + sum_before(count, total);
    if (total > 32) return write_best_by_bits(keys, plan, row);
    keys.for_each([&](int block, int key) {
      if (key >= bound) *to++ = {key, block};
    });
    __syncwarp();
    if (lane < total) mine = scratch[lane];
  }
  const unsigned taken = best_of_lanes(mine.key, plan.picks);
  const unsigned before = (1u << lane) - 1;
  if (taken >> lane & 1) row.set(plan.unused + 1 + __popc(taken & before), mine.block);
}

}  // namespace nsa::cuda
