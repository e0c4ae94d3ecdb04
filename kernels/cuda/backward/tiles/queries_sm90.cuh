// The gradient of q in attention to a band on Hopper: as queries_mma.cuh, but a warpgroup has 64
// rows, two or three warpgroups share the keys that TMA brings, and products are made by WGMMA.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/backward/tiles/products.cuh"
#include "cuda/backward/tiles/products_sm90.cuh"
#include "cuda/backward/tiles/query_rows.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/flash/sm90_key_tile.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/sm90_warpgroups.cuh"

namespace nsa::cuda {

template <class T, int kDim, int kWarpgroups, int kKeysOfTile, int kBlocksOfSm, int kBuffers>
struct QuerySizesOfSm90 {
  using Storage = T;
  static constexpr int kDk = kDim, kDv = kDim, kKeys = kKeysOfTile;
  static constexpr int kGroups = kWarpgroups, kRows = kGroups * kTileRows, kThreads = 128 * kGroups;
  static constexpr int kBlocks = kBlocksOfSm, kStages = kBuffers;
  static constexpr std::uint32_t kRowBytes = kSwizzledTile<kDim>;  // of q or d_o of a warpgroup
  static constexpr std::uint32_t kKBytes = kKeys * kDim * 2, kStageBytes = 2 * kKBytes;
  static constexpr std::size_t kBytes =
      1024 + kGroups * 2 * kRowBytes + kStages * kStageBytes + 2 * kStages * sizeof(sm90::Barrier);
};
template <class T, int kDim>
using QuerySizesSm90 = std::conditional_t<kDim == 64, QuerySizesOfSm90<T, kDim, 2, 64, 2, 4>,
                                          QuerySizesOfSm90<T, kDim, 3, 64, 1, 3>>;
/// Where there are many keys: products of 128 columns read less of shared memory, whose bandwidth
/// bounds those of 64, and fewer rows share the keys.
template <class T>
using WideQuerySizesSm90 = QuerySizesOfSm90<T, kWideBandColumns, 2, kWideBandKeys, 1, 2>;

/// Shared memory of a block: q and d_o of each warpgroup, the stages of keys, barriers.
template <class Sizes>
struct QuerySharedSm90 {
  std::uint32_t begin;

  __device__ std::uint32_t q(int group) const {
    return begin + static_cast<std::uint32_t>(group) * 2 * Sizes::kRowBytes;
  }
  __device__ std::uint32_t d_o(int group) const { return q(group) + Sizes::kRowBytes; }
  __device__ std::uint32_t k(int stage) const {
    return q(Sizes::kGroups) + static_cast<std::uint32_t>(stage) * Sizes::kStageBytes;
  }
  /// Ends when the keys of a stage have come, or were read.
  __device__ std::uint32_t full(int stage) const {
    return k(Sizes::kStages) + static_cast<std::uint32_t>(stage) * 8;
  }
  __device__ std::uint32_t empty(int stage) const { return full(Sizes::kStages + stage); }
};

/// The keys of a block's rows, tile after tile. All of it by one thread.
template <class Sizes>
class KeyLoader {
 public:
  /// Tiles from key `first` on; rows of K and V begin at `first_row`.
  __device__ KeyLoader(const QuerySharedSm90<Sizes>& shared, const KeyMaps& maps, int kv_head,
                       int first_row, int first, int end)
      : shared_(shared),
        maps_(maps),
        kv_head_(kv_head),
        first_row_(first_row),
        next_(first),
        end_(end) {}
  __device__ void set_up() const {
    for (int stage = 0; stage < Sizes::kStages; ++stage) {
      sm90::barrier_init(shared_.full(stage), 1);
      sm90::barrier_init(shared_.empty(stage), Sizes::kThreads / 32);
    }
    sm90::barrier_fence();
  }
  /// The next tile, when all warps have read what its buffer holds; keys after the band come along
  /// and are masked.
  __device__ void load() {
    if (next_ >= end_) return;
    sm90::barrier_wait(shared_.empty(ring_.stage), ring_.parity ^ 1);
    const std::uint32_t full = shared_.full(ring_.stage);
    sm90::barrier_expect(full, static_cast<int>(Sizes::kStageBytes));
    sm90::copy_key_tile<Sizes>(maps_, shared_.k(ring_.stage), kv_head_, first_row_ + next_, full);
    next_ += Sizes::kKeys;
    ring_.next();
  }

 private:
  const QuerySharedSm90<Sizes>& shared_;
  const KeyMaps& maps_;
  int kv_head_, first_row_, next_, end_;
  sm90::Ring<Sizes::kStages> ring_;
};

/// Logits of this thread's rows and the keys from `first` on to weights.
template <int kNumbers>
__device__ __forceinline__ void weigh_rows(const QueryRows& rows, int first, float scale_log2,
                                           float (&p)[kNumbers]) {
  const bool whole = first >= max(rows.seen[0].begin, rows.seen[1].begin) &&
                     first + 2 * kNumbers <= min(rows.seen[0].end, rows.seen[1].end);
#pragma unroll
  for (int n = 0; n < kNumbers / 4; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c)
      p[4 * n + c] = exp2_fast(fmaf(p[4 * n + c], scale_log2, -rows.lse[c / 2]));
  if (whole) return;
  const int key = first + static_cast<int>(lane_id()) % 4 * 2;
#pragma unroll
  for (int n = 0; n < kNumbers / 4; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int at = key + 8 * n + c % 2;
      if (at < rows.seen[c / 2].begin || at >= rows.seen[c / 2].end) p[4 * n + c] = 0.0f;
    }
}

/// A warpgroup's rows to where they belong, from `first` of the block's on, through shared memory:
/// threads next to each other write pieces of a row next to each other, and what is there is read
/// before anything is written. Called by all threads of the block.
template <class T, int kDim>
__device__ __forceinline__ void put_query_rows(const BackwardParams& p, const RowTile& at,
                                               int first, float* shared, int own,
                                               const float (&d_q)[kDim / 2]) {
  constexpr int kRow = kDim + 8;  // four rows' pairs lie in different banks
  constexpr int kPieces = kDim / 8, kOwn = kTileRows * kPieces / 128;
#pragma unroll
  for (int n = 0; n < kDim / 8; ++n)
#pragma unroll
    for (int i = 0; i < 2; ++i)
      *reinterpret_cast<float2*>(shared + (own + 8 * i) * kRow + 8 * n +
                                 static_cast<int>(lane_id()) % 4 * 2) =
          make_float2(d_q[4 * n + 2 * i] * p.scale, d_q[4 * n + 2 * i + 1] * p.scale);
  __syncthreads();
  GradientPiece<T> pieces[kOwn];
  const int thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const int row = first + (thread + 128 * j) / kPieces, column = (thread + 128 * j) % kPieces * 8;
    if (at.holds(row)) pieces[j].find(p.d_q, at.token(row), at.head(row), column);
  }
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const int row = (thread + 128 * j) / kPieces, column = (thread + 128 * j) % kPieces * 8;
    if (at.holds(first + row)) pieces[j].put(p.d_q, shared + row * kRow + column);
  }
}

template <class Sizes>
__device__ __forceinline__ void query_gradient_block(const BackwardParams& p, const KeyMaps& maps,
                                                     bool compressed) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const RowTile at(a, a.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  unsigned char* memory = dynamic_shared();
  memory += (0u - sm90::shared_address(memory)) % 1024;
  const QuerySharedSm90<Sizes> shared{sm90::shared_address(memory)};
  const int group = static_cast<int>(threadIdx.x) / 128, first_of_group = group * kTileRows;
  const int begin = band_keys(p.band, at.position(0)).begin;
  const int end = band_keys(p.band, at.position(Sizes::kRows - 1)).end;
  const auto first_row =
      static_cast<int>(compressed ? at.sequence.cmp_begin : at.sequence.kv_begin);
  KeyLoader<Sizes> keys(shared, maps, at.kv_head, first_row, begin, end);
  const bool loads = threadIdx.x == 0;
  if (loads) {
    keys.set_up();
    for (int stage = 1; stage < Sizes::kStages; ++stage) keys.load();
  }
  const std::uint32_t q = shared.q(group), d_o = shared.d_o(group);
#pragma unroll
  for (int j = 0; j < kTileRows / 16; ++j) {
    const int row = static_cast<int>(threadIdx.x) % 128 / 8 + 16 * j;
    const int of_block = first_of_group + row;
    const bool exists = at.holds(of_block);
    const std::int64_t token = at.token(of_block), head = at.head(of_block);
    copy_tile_row<T, Sizes::kDk>(q, row, exists ? head_row<const T>(a.q, token, head) : nullptr,
                                 static_cast<const T*>(a.q.data));
    copy_tile_row<T, Sizes::kDv>(d_o, row, exists ? head_row<const T>(p.d_o, token, head) : nullptr,
                                 static_cast<const T*>(p.d_o.data));
  }
  commit_copies();

  const int own = static_cast<int>(threadIdx.x % 128 / 32 * 16 + lane_id() / 4);
  const QueryRows rows = query_rows(p, at, first_of_group + own);
  float d_q[Sizes::kDk / 2] = {};
  settle_copies();
  __syncthreads();  // the queries are there, and the barriers
  sm90::Ring<Sizes::kStages> ring;
  // The next tile of keys, kColumns of it.
  const auto add_tile = [&]<int kColumns>(std::integral_constant<int, kColumns>, int first) {
    sm90::barrier_wait(shared.full(ring.stage), ring.parity);
    const std::uint32_t k = shared.k(ring.stage);
    float weights[kColumns / 2], d_s[kColumns / 2];
    sm90::wgmma_fence();
    begin_rows_product<T, Sizes::kDk, Sizes::kKeys>(weights, q, k);
    sm90::wgmma_commit();
    begin_rows_product<T, Sizes::kDv, Sizes::kKeys>(d_s, d_o, k + Sizes::kKBytes);
    sm90::wgmma_commit();
    if (loads) keys.load();
    __syncwarp();
    sm90::wgmma_wait<1>(weights);
    weigh_rows(rows, first, a.scale_log2, weights);
    sm90::wgmma_wait<0>(d_s);
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) d_s[i] = weights[i] * (d_s[i] - rows.mean[i % 4 / 2]);
    std::uint32_t of_logits[kColumns / 16][4];
    as_fragments<T>(d_s, of_logits);
    sm90::pin(d_q);
    sm90::wgmma_fence();
    begin_add_product<T, Sizes::kDk, Sizes::kKeys>(d_q, of_logits, k, true);
    sm90::wgmma_commit();
    sm90::wgmma_wait<0>(d_q);
    if (lane_id() == 0) sm90::barrier_arrive(shared.empty(ring.stage));
    ring.next();
  };
  int first = begin;
  for (; end - first > Sizes::kKeys - kTileRows; first += Sizes::kKeys)
    add_tile(std::integral_constant<int, Sizes::kKeys>{}, first);
  if (Sizes::kKeys > kTileRows && first < end)
    add_tile(std::integral_constant<int, kTileRows>{}, first);
  __syncthreads();  // all products have read the keys
  auto* const sums = reinterpret_cast<float*>(memory);
  put_query_rows<T, Sizes::kDk>(p, at, first_of_group, sums + group * kTileRows * (Sizes::kDk + 8),
                                own, d_q);
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    query_gradient_sm90_kernel(const __grid_constant__ BackwardParams p,
                               const __grid_constant__ KeyMaps maps, bool compressed) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  query_gradient_block<Sizes>(p, maps, compressed);
#else
  __trap();
#endif
}

template <class Sizes>
void launch_query_gradient_sm90(const BackwardParams& p, bool compressed, CUstream_st* stream) {
  constexpr Dtype kDtype =
      std::is_same_v<typename Sizes::Storage, __half> ? Dtype::fp16 : Dtype::bf16;
  launch_row_tiles<Sizes>(query_gradient_sm90_kernel<Sizes>, Sizes::kBytes, stream, p,
                          make_key_maps(p.attend, kDtype, Sizes::kKeys), compressed);
}

}  // namespace nsa::cuda
