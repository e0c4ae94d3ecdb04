// `fused_query` on Hopper: neighbouring queries share one walk over the union of their blocks. TMA
// brings each block of the union to shared memory once, and the warps whose queries chose it work
// on it, each at its own pace. Of the prototypes (a thread block per query, this union, the union
// by wgmma with a mask, a walk over blocks that gathers their queries) none won everywhere; this
// one costs nothing where queries share no blocks and reads less where they do. Random blocks are
// limited by traffic from L2, shared ones by reads of shared memory (docs/results/README.md).
#pragma once

#include "attend_selected/cuda/fused_query/sizes.cuh"
#include "attend_selected/cuda/fused_query/union.cuh"
#include "attend_selected/cuda/fused_query/warp.cuh"
#include "cuda/flash/sm90_key_tile.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/copy_async.cuh"

namespace nsa::cuda {

struct QueryParams {
  KeyMaps maps;  // boxes of 64 keys
  AttendParams attend;
  int stages, entries;  // of the ring; most blocks in a union
};

/// The ring of stages that the last warp fills and the others empty.
template <class Sizes>
struct BlockRing {
  std::uint32_t stages, barriers;  // shared memory
  std::uint32_t issued;            // there too: blocks whose copies have begun
  int count;                       // stages

  __device__ std::uint32_t stage(int i) const {
    return stages + static_cast<std::uint32_t>(i) * Sizes::kStageBytes;
  }
  __device__ std::uint32_t full(int i) const {
    return barriers + static_cast<std::uint32_t>(i) * 16;
  }
  __device__ std::uint32_t empty(int i) const { return full(i) + 8; }
  /// Release and acquire: who sees the number sees the barriers as they were when it was written.
  __device__ void set_issued(int blocks) const {
    asm volatile("st.release.cta.shared::cta.s32 [%0], %1;" ::"r"(issued), "r"(blocks) : "memory");
  }
  __device__ int issued_now() const {
    int blocks;
    asm volatile("ld.acquire.cta.shared::cta.s32 %0, [%1];"
                 : "=r"(blocks)
                 : "r"(issued)
                 : "memory");
    return blocks;
  }
};

/// One thread brings the blocks of the union, in order. Warps that do not need a block never look
/// at it, so their arrivals are counted here.
template <class Sizes>
__device__ void fetch_blocks(const QueryParams& p, const BlockRing<Sizes>& ring, const uint2* list,
                             int count, int kv_begin, int kv_head) {
  int s = 0;
  unsigned parity = 1;  // the first round finds the stages empty
  for (int i = 0; i < count; ++i) {
    const uint2 entry = list[i];
    unsigned warps = entry.y;
    if (Sizes::kQueriesOfWarp == 2) warps = (warps | warps >> 1) & 0x55555555u;
    const int idle = Sizes::kWarps - __popc(warps);
    sm90::barrier_wait(ring.empty(s), parity);
    if (idle > 0) sm90::barrier_arrive(ring.empty(s), idle);
    sm90::barrier_expect(ring.full(s), Sizes::kStageBytes);
    const int row = kv_begin + static_cast<int>(entry.x) * Sizes::kKeys;
    sm90::copy_key_tile<Sizes>(p.maps, ring.stage(s), kv_head, row, ring.full(s));
    ring.set_issued(i + 1);
    if (++s == ring.count) s = 0, parity ^= 1;
  }
}

/// A warp walks the list and adds the blocks that its queries chose. `position` is its first query.
template <class Sizes>
__device__ void add_blocks(QueryWarp<Sizes>& queries, const BlockRing<Sizes>& ring,
                           const uint2* list, int count, int warp, int position) {
  constexpr int kOwn = Sizes::kQueriesOfWarp;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int s = 0, before = 0;  // stage of entry `before`, and the parity of its round
  unsigned parity = 0;
  for (int first = 0; first < count; first += 32) {
    const uint2 mine = first + lane < count ? list[first + lane] : uint2{0, 0};
    const unsigned own = mine.y >> (warp * kOwn) & ((1u << kOwn) - 1);
    for (unsigned wanted = __ballot_sync(0xffffffffu, own != 0); wanted; wanted &= wanted - 1) {
      const int from = __ffs(static_cast<int>(wanted)) - 1, i = first + from;
      const unsigned bits = __shfl_sync(0xffffffffu, own, from);
      const int block = static_cast<int>(__shfl_sync(0xffffffffu, mine.x, from));
      for (s += i - before, before = i; s >= ring.count; s -= ring.count) parity ^= 1;
      // A phase's parity tells it from its neighbours only: do not ask before the copies began.
      while (ring.issued_now() <= i) {
      }
      sm90::barrier_wait(ring.full(s), parity);
      int visible[kOwn];
#pragma unroll
      for (int c = 0; c < kOwn; ++c) visible[c] = position + c + 1 - block * Sizes::kKeys;
      queries.add(bits, ring.stage(s), visible);
      __syncwarp();
      if (lane == 0) sm90::barrier_arrive(ring.empty(s), 1);
    }
  }
}

/// Starts to copy the queries of the tile to shared memory, zeros for heads that do not exist.
template <class Sizes>
__device__ void load_queries(const AttendParams& p, const RowTile& at, unsigned char* to) {
  using T = typename Sizes::Storage;
  constexpr int kPieces = Sizes::kDk / 8;
  for (int i = static_cast<int>(threadIdx.x); i < Sizes::kQueries * Sizes::kHeads * kPieces;
       i += Sizes::kThreads) {
    const int piece = i % kPieces, head = i / kPieces % Sizes::kHeads;
    const int query = i / (kPieces * Sizes::kHeads);
    const bool exists = head < p.group && at.holds(query);
    const T* from = head_row<const T>(p.q, exists ? at.token(query) : at.sequence.q_begin,
                                      at.kv_head * p.group + (exists ? head : 0));
    copy_async_16(sm90::shared_address(to) +
                      static_cast<std::uint32_t>(query * Sizes::kQueryBytes +
                                                 sm90::swizzled(Sizes::kHeads, head, piece)),
                  from + 8 * piece, exists);
  }
}

template <class Sizes>
__device__ void fused_query_block(const QueryParams& p, unsigned char* shared) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const RowTile at(a, 1, Sizes::kQueries);
  if (at.first_row >= at.rows) return;

  unsigned char* queries = shared + p.stages * Sizes::kStageBytes;
  unsigned char* barriers = queries + Sizes::kQueries * Sizes::kQueryBytes;
  auto* list = reinterpret_cast<uint2*>(barriers + Sizes::kMaxStages * 16);
  auto* small = reinterpret_cast<int*>(list + p.entries);  // union size, issued, prefix sums
  const BlockRing<Sizes> ring{sm90::shared_address(shared), sm90::shared_address(barriers),
                              sm90::shared_address(small + 1), p.stages};
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  if (thread == 0) {
    for (int i = 0; i < p.stages; ++i) {
      sm90::barrier_init(ring.full(i), 1);
      sm90::barrier_init(ring.empty(i), Sizes::kWarps);
    }
    sm90::barrier_fence();
    small[1] = 0;
  }
  load_queries<Sizes>(a, at, queries);
  const int count =
      unite_blocks(a, at, Sizes::kQueries, reinterpret_cast<unsigned*>(shared), list, small);
  commit_copies();
  wait_copies<0>();
  sm90::fence_shared();  // the table of the union lies where the copies will arrive
  __syncthreads();

  if (warp == Sizes::kWarps) {
    if (thread % 32 == 0)
      fetch_blocks(p, ring, list, count, static_cast<int>(at.sequence.kv_begin), at.kv_head);
    return;
  }
  const int first = warp * Sizes::kQueriesOfWarp;
  QueryWarp<Sizes> own(
      sm90::shared_address(queries) + static_cast<std::uint32_t>(first) * Sizes::kQueryBytes,
      a.scale_log2);
  add_blocks(own, ring, list, count, warp, at.position(0) + first);
  for (int c = 0; c < Sizes::kQueriesOfWarp; ++c) {
    if (!at.holds(first + c)) continue;
    const std::int64_t token = at.token(first + c);
    const int head = at.kv_head * a.group;
    own.write(c, head_row<T>(a.o, token, head), a.o.head_stride, a.dv, a.group,
              a.lse ? a.lse + token * a.lse_row_stride + head * a.lse_head_stride : nullptr,
              a.lse_head_stride);
  }
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    fused_query_sm90_kernel(const __grid_constant__ QueryParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  unsigned char* shared = dynamic_shared();
  shared += (0u - sm90::shared_address(shared)) % Sizes::kAlignment;
  fused_query_block<Sizes>(p, shared);
#else
  __trap();
#endif
}

}  // namespace nsa::cuda
