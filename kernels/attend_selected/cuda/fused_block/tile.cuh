// What both kinds of work of `fused_block` do with 64 rows (query, head of the group) and a block
// of 64 keys on Hopper: one warpgroup, products by warpgroup instructions.
#pragma once

#include "attend_selected/cuda/fused_block/params.cuh"
#include "cuda/flash/sm90_key_tile.cuh"
#include "cuda/ptx/copy_async.cuh"
#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/sm90_wgmma.cuh"

namespace nsa::cuda {

/// Sizes of one kernel: a warpgroup a thread block, kBlocksPerSm of these an SM.
template <class T, int kDimK, int kDimV, int kStageCount, int kBlocksPerSm>
struct BlockSizes {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kKeys = 64, kRows = kBlockRows, kThreads = 128;
  static constexpr int kStages = kStageCount, kBlocks = kBlocksPerSm;
  static constexpr int kQBytes = kRows * kDk * 2, kKBytes = kKeys * kDk * 2;
  static constexpr int kStageBytes = kKBytes + kKeys * kDv * 2;
  static constexpr int kAlignment = 1024;  // of a swizzled tile
  static_assert(kDv <= kDk, "the output is staged where the queries were");
};

/// A piece of work, in shared memory.
struct BlockWork {
  enum Kind { kItem, kTile, kEnd };
  int kind, stage, head;
  int tile;                  // kTile: of the stage's neighbouring queries
  int free;                  // kItem: the results that lay where its own go have been merged
  BlockItem item;            // kItem
  std::int64_t first_token;  // of the stage
};

template <class Sizes>
struct BlockShared {
  unsigned char* queries;  // [2][rows, dk] swizzled
  std::uint32_t keys;      // [stages] K [64, dk], V [64, dv] swizzled
  std::uint32_t barriers;  // [stages] 8 bytes
  BlockWork* work;         // [2] at hand and next
  int* entries;            // [2][kEntries]
  std::uint16_t* rows;     // [64] query and head of a row of a tile: query << 8 | head

  static constexpr int kEntries = kItemTiles * kBlockRows;
  static constexpr int kBytes = Sizes::kAlignment + 2 * Sizes::kQBytes +
                                Sizes::kStages * (Sizes::kStageBytes + 8) + 2 * sizeof(BlockWork) +
                                2 * kEntries * 4 + kBlockRows * 2 + 64;
  __device__ explicit BlockShared(unsigned char* memory) {
    queries = memory + Sizes::kStages * Sizes::kStageBytes;
    keys = sm90::shared_address(memory);
    unsigned char* behind = queries + 2 * Sizes::kQBytes;
    barriers = sm90::shared_address(behind);
    work = reinterpret_cast<BlockWork*>(behind + 8 * Sizes::kStages);
    entries = reinterpret_cast<int*>(work + 2);
    rows = reinterpret_cast<std::uint16_t*>(entries + 2 * kEntries);
  }
};

/// The blocks of keys that pass through shared memory: thread 0 asks for them in the order in which
/// all threads wait for them, kStages at most ahead.
template <class Sizes>
struct BlockKeys {
  const BlockParams& p;
  std::uint32_t keys, barriers;  // shared memory
  int asked = 0, taken = 0;      // blocks so far; only their remainder and parity are used

  __device__ std::uint32_t stage(int i) const {
    return keys + static_cast<std::uint32_t>(i % Sizes::kStages * Sizes::kStageBytes);
  }
  __device__ std::uint32_t barrier(int i) const {
    return barriers + static_cast<std::uint32_t>(i % Sizes::kStages * 8);
  }
  /// All threads call it; the stage is free: all of them are done with what lay there. `row` of k
  /// and v is the block's first.
  __device__ void ask(int kv_head, int row) {
    if (threadIdx.x == 0) {
      sm90::barrier_expect(barrier(asked), Sizes::kStageBytes);
      sm90::copy_key_tile<Sizes>(p.maps, stage(asked), kv_head, row, barrier(asked));
    }
    ++asked;
  }
  /// Waits for the next block; returns where it lies.
  __device__ std::uint32_t take() {
    sm90::barrier_wait(barrier(taken), static_cast<unsigned>(taken / Sizes::kStages) & 1);
    return stage(taken++);
  }
};

/// What a thread block carries from one piece of work to the next.
struct BlockState {
  int turn = 0;         // of the two places for work and for entries
  int buffer = 0;       // of the two for queries: where the next tile's are
  bool primed = false;  // the copies for the piece at hand, an item, have begun
  int* done = nullptr;  // counter of the piece before, which is not yet counted

  /// Counts the piece before: all threads have left it and met at a barrier since.
  __device__ void count_done() {
    if (done && threadIdx.x == 0) {
      // The barrier put what others wrote before it, the release puts all of that before the count.
      asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(done) : "memory");
    }
    done = nullptr;
  }
};

/// Where this thread's two rows are: row(i) of its tile, and columns 2 (lane % 4) + {0, 1} of
/// eight.
__device__ inline int block_row(int i) {
  return static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i;
}

/// First row of the queries of a stage.
template <class T>
__device__ const T* stage_queries(const BlockParams& p, const BlockWork& work) {
  return head_row<const T>(p.attend.q, work.first_token, work.head * p.attend.group);
}

/// Starts to copy 64 rows of queries of a stage, whose first row is `queries`; `query_of(q)` is the
/// query of the chunk that query q of the tile is. Rows that the tile does not have are any others:
/// nobody reads their results.
template <class Sizes, class QueryOf>
__device__ __forceinline__ void load_block_queries(const BlockParams& p,
                                                   const BlockShared<Sizes>& shared,
                                                   const typename Sizes::Storage* queries,
                                                   int buffer, QueryOf query_of) {
  using T = typename Sizes::Storage;
  constexpr int kPieces = Sizes::kDk / 8, kRowsAtOnce = Sizes::kThreads / kPieces;
  const int piece = static_cast<int>(threadIdx.x) % kPieces;
  const int first = static_cast<int>(threadIdx.x) / kPieces;
  const T* chunk = queries + 8 * piece;
  const auto row_stride = static_cast<int>(p.attend.q.row_stride);
  const auto head_stride = static_cast<int>(p.attend.q.head_stride);
  const std::uint32_t to =
      sm90::shared_address(shared.queries) + static_cast<std::uint32_t>(buffer * Sizes::kQBytes);
  constexpr int kSteps = Sizes::kRows / kRowsAtOnce;
  int at[kSteps], query[kSteps];  // first all reads of shared memory: the copies are ordered
#pragma unroll
  for (int i = 0; i < kSteps; ++i) at[i] = shared.rows[first + i * kRowsAtOnce];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) query[i] = query_of(at[i] >> 8);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const T* from = chunk + (std::int64_t{query[i]} * row_stride + (at[i] & 0xff) * head_stride);
    copy_async_16(to + static_cast<std::uint32_t>(
                           sm90::swizzled(Sizes::kRows, first + i * kRowsAtOnce, piece)),
                  from, true);
  }
  commit_copies();
}

/// s = q k^T: s[4 n + 2 i + e] is row(i), key 8 n + 2 (lane % 4) + e.
template <class Sizes>
__device__ __forceinline__ void block_logits(std::uint32_t q, std::uint32_t k, float (&s)[32]) {
  const sm90::MatrixDescriptor rows(q, 0), keys(k, 0);
  sm90::wgmma_fence();
#pragma unroll
  for (int d = 0; d < Sizes::kDk / 16; ++d) {
    const int panel = d / 4, step = d % 4 * 32;
    sm90::wgmma_shared<typename Sizes::Storage>(s, rows.at(panel * Sizes::kRows * 128 + step),
                                                keys.at(panel * Sizes::kKeys * 128 + step), d > 0);
  }
  sm90::wgmma_commit();
  sm90::wgmma_wait<0>(s);
}

/// o (+)= weights v: o[4 n + 2 i + e] is row(i), column 8 n + 2 (lane % 4) + e.
template <class Sizes>
__device__ __forceinline__ void block_values(std::uint32_t v, const float (&s)[32],
                                             float (&o)[Sizes::kDv / 2], bool accumulate = true) {
  using T = typename Sizes::Storage;
  std::uint32_t weights[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int h = 0; h < 4; ++h)
      weights[i][h] = pack_pair<T>(s[8 * i + 2 * h], s[8 * i + 2 * h + 1]);
  const sm90::MatrixDescriptor values(v, Sizes::kKeys * 128);
  if (accumulate) sm90::pin(o);
  sm90::wgmma_fence();
#pragma unroll
  for (int i = 0; i < 4; ++i)
    sm90::wgmma_registers<T>(o, weights[i], values.at(i * 2048), accumulate || i > 0);
  sm90::wgmma_commit();
  sm90::wgmma_wait<0>(o);
}

/// Largest logit of row i, over the four threads of the row.
__device__ __forceinline__ float block_row_max(const float (&s)[32], int i) {
  float x = s[2 * i];
#pragma unroll
  for (int n = 0; n < 8; ++n) x = fmaxf(x, fmaxf(s[4 * n + 2 * i], s[4 * n + 2 * i + 1]));
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/// Logits of row i to weights against `reference`; returns this thread's share of their sum.
__device__ __forceinline__ float block_weigh(float (&s)[32], int i, float scale, float reference) {
  float sum = 0.0f;
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& x = s[4 * n + 2 * i + e];
      x = exp2_fast(fmaf(x, scale, -reference));
      sum += x;
    }
  return sum;
}

__device__ inline float log2_fast(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Sum over the four threads of a row.
__device__ inline float sum_of_row(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// What other thread blocks have counted; what they wrote before is seen.
__device__ inline int count_now(const int* counter) {
  int seen;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  return seen;
}
/// Waits, by one thread, until they have counted up to `value`.
__device__ inline void wait_for_count(const int* counter, int value) {
  while (count_now(counter) < value) {
  }
}

}  // namespace nsa::cuda
