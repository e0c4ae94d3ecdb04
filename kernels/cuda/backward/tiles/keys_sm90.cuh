// Gradients of K and V on Hopper: as keys_mma.cuh, but one warpgroup has all 64 keys, and products
// are made by WGMMA from swizzled tiles.
#pragma once

#include "cuda/backward/tiles/item_rows.cuh"
#include "cuda/backward/tiles/products.cuh"
#include "cuda/backward/tiles/products_sm90.cuh"
#include "cuda/backward/tiles/query_piece.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/exp2.cuh"

namespace nsa::cuda {

template <class T, int kDim, bool kAlsoQueries>
struct KeySizesSm90 {
  using Storage = T;
  static constexpr int kDk = kDim, kDv = kDim, kKeys = kTileRows, kRows = kTileRows;
  static constexpr int kThreads = 128, kBlocks = kDim == 64 ? 3 : 2;
  static constexpr bool kQueries = kAlsoQueries;
  static constexpr int kMostEntries = 1024;
  static constexpr std::uint32_t kWeightRow = (kRows + 8) * 2;
  static constexpr std::size_t kBytes = 1024 + 6 * kSwizzledTile<kDim> +
                                        (kQueries ? kKeys * kWeightRow : 0) + 2 * kRows * 24 +
                                        kMostEntries * 4;
};

/// Shared memory of a block, as addresses and as pointers.
template <class Sizes>
struct KeySharedSm90 {
  static constexpr std::uint32_t kTile = kSwizzledTile<Sizes::kDk>;
  std::uint32_t tiles;     // K, V, q and d_o of two stages
  unsigned char* weights;  // gradients of logits, [keys, rows]
  float2* stats_;
  int* entries;

  __device__ explicit KeySharedSm90(unsigned char* memory) {
    memory += (0u - sm90::shared_address(memory)) % 1024;
    tiles = sm90::shared_address(memory);
    weights = memory + 6 * kTile;
    stats_ = reinterpret_cast<float2*>(weights +
                                       (Sizes::kQueries ? Sizes::kKeys * Sizes::kWeightRow : 0));
    entries = reinterpret_cast<int*>(stats_ + 6 * Sizes::kRows);
  }
  __device__ std::uint32_t k() const { return tiles; }
  __device__ std::uint32_t v() const { return tiles + kTile; }
  __device__ std::uint32_t q(int stage) const {
    return tiles + (2 + 2 * static_cast<std::uint32_t>(stage)) * kTile;
  }
  __device__ std::uint32_t d_o(int stage) const { return q(stage) + kTile; }
  __device__ float2* stats(int stage) const { return stats_ + stage * Sizes::kRows; }
  __device__ int2* seen(int stage) const {
    return reinterpret_cast<int2*>(stats_ + (2 + stage) * Sizes::kRows);
  }
  __device__ std::int64_t* place(int stage) const {
    return reinterpret_cast<std::int64_t*>(stats_ + (4 + stage) * Sizes::kRows);
  }
};

/// Begins to load the rows from `first` on; returns whether one of this thread's rows does not see
/// the whole tile.
template <class Sizes>
__device__ __forceinline__ bool load_item_rows(const ItemRows& rows,
                                               const KeySharedSm90<Sizes>& shared, int first,
                                               int stage) {
  using T = typename Sizes::Storage;
  const AttendParams& a = rows.p.attend;
  const int head = rows.item.kv_head * a.group;
#pragma unroll
  for (int j = 0; j < Sizes::kRows / 16; ++j) {
    const int r = static_cast<int>(threadIdx.x) / 8 + 16 * j;
    const ItemRows::Row row = rows.row(first + r);
    const bool exists = row.token >= 0;
    copy_tile_row<T, Sizes::kDk>(
        shared.q(stage), r, exists ? head_row<const T>(a.q, row.token, head + row.head) : nullptr,
        static_cast<const T*>(a.q.data));
    copy_tile_row<T, Sizes::kDv>(
        shared.d_o(stage), r,
        exists ? head_row<const T>(rows.p.d_o, row.token, head + row.head) : nullptr,
        static_cast<const T*>(rows.p.d_o.data));
  }
  const int r = static_cast<int>(threadIdx.x);
  if (r >= Sizes::kRows) return false;
  const ItemRows::Row row = rows.row(first + r);
  const auto* stats = reinterpret_cast<const float2*>(rows.p.stats);
  shared.stats(stage)[r] = row.token < 0
                               ? make_float2(0.0f, 0.0f)
                               : stats[row.token * a.kv_heads * a.group + head + row.head];
  const int2 seen = rows.seen(row);
  shared.seen(stage)[r] = seen;
  if constexpr (Sizes::kQueries) shared.place(stage)[r] = rows.place(row);
  return seen.x > 0 || seen.y < Sizes::kKeys;
}

/// Logits to weights of this thread's keys; those of rows that do not see a key are 0.
template <class Sizes>
__device__ __forceinline__ void weigh_keys(const KeySharedSm90<Sizes>& shared, int stage,
                                           bool masked, float scale_log2, float (&p)[32]) {
  const auto lane = static_cast<int>(lane_id());
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const int row = 8 * n + lane % 4 * 2;
    const float4 stats = *reinterpret_cast<const float4*>(shared.stats(stage) + row);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      float& x = p[4 * n + c];
      x = exp2_fast(fmaf(x, scale_log2, -(c % 2 == 0 ? stats.x : stats.z)));
    }
  }
  if (!masked) return;
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const int4 seen = *reinterpret_cast<const int4*>(shared.seen(stage) + 8 * n + lane % 4 * 2);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int key = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4 + c / 2 * 8;
      const bool sees = c % 2 == 0 ? key >= seen.x && key < seen.y : key >= seen.z && key < seen.w;
      if (!sees) p[4 * n + c] = 0.0f;
    }
  }
}

/// Gradients of weights to gradients of logits.
template <class Sizes>
__device__ __forceinline__ void logit_gradients(const KeySharedSm90<Sizes>& shared, int stage,
                                                const float (&p)[32], float (&d_s)[32]) {
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const float4 stats = *reinterpret_cast<const float4*>(shared.stats(stage) + 8 * n +
                                                          static_cast<int>(lane_id()) % 4 * 2);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      float& x = d_s[4 * n + c];
      x = p[4 * n + c] * (x - (c % 2 == 0 ? stats.y : stats.w));
    }
  }
}

/// Gradients of logits, [keys, rows], for the product with K.
template <class Sizes>
__device__ __forceinline__ void keep_logit_gradients(const KeySharedSm90<Sizes>& shared,
                                                     const std::uint32_t (&a)[4][4]) {
  const std::uint32_t lane = lane_id();
  unsigned char* to =
      shared.weights + (16 * (threadIdx.x / 32) + lane / 4) * Sizes::kWeightRow + lane % 4 * 4;
#pragma unroll
  for (int kk = 0; kk < 4; ++kk)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<std::uint32_t*>(to + 32 * kk + i % 2 * 8 * Sizes::kWeightRow + i / 2 * 16) =
          a[kk][i];
}

/// The rows' gradient of q from this tile of keys: each warp has 16 rows.
template <class Sizes>
__device__ __forceinline__ void add_queries(const KeySharedSm90<Sizes>& shared,
                                            const KeyOutputs& out, int stage, float scale) {
  using T = typename Sizes::Storage;
  const std::uint32_t lane = lane_id(), first = threadIdx.x / 32 * 16;
  const std::uint32_t weights = sm90::shared_address(shared.weights) +
                                (lane % 8 + lane / 16 * 8) * Sizes::kWeightRow +
                                (first + lane / 8 % 2 * 8) * 2;
  std::uint32_t a[4][4];
#pragma unroll
  for (std::uint32_t kk = 0; kk < 4; ++kk)
    load_matrices_transposed(a[kk], weights + kk * 16 * Sizes::kWeightRow);
  float c[Sizes::kDk / 2] = {};
  sm90::pin(c);
  sm90::wgmma_fence();
  begin_add_product<T, Sizes::kDk>(c, a, shared.k(), false);
  sm90::wgmma_commit();
  const std::int64_t* place = shared.place(stage) + first + lane / 4;
  const std::int64_t places[2] = {place[0], place[8]};
  sm90::wgmma_wait<0>(c);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (places[i] < 0) continue;
#pragma unroll
    for (int h = 0; h < Sizes::kDk / 32; ++h) {
      const float* own = c + 16 * h + 2 * i;
      put_query_piece<T>(out, places[i] * Sizes::kDk + 32 * h, own, scale);
    }
  }
}

template <class Sizes>
__device__ void load_keys(const BackwardParams& p, const KeyItem& item,
                          const KeySharedSm90<Sizes>& shared) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const KeyTile& tile = item.keys;
#pragma unroll
  for (int j = 0; j < Sizes::kKeys / 16; ++j) {
    const int key = static_cast<int>(threadIdx.x) / 8 + 16 * j;
    const bool exists = key < tile.count;
    copy_tile_row<T, Sizes::kDk>(
        shared.k(), key, exists ? head_row<const T>(a.k, tile.row + key, item.kv_head) : nullptr,
        static_cast<const T*>(a.k.data));
    copy_tile_row<T, Sizes::kDv>(
        shared.v(), key, exists ? head_row<const T>(a.v, tile.row + key, item.kv_head) : nullptr,
        static_cast<const T*>(a.v.data));
  }
}

template <class Sizes>
__device__ __forceinline__ void write_sums(float* sums, const float (&d_k)[Sizes::kDk / 2],
                                           const float (&d_v)[Sizes::kDv / 2]) {
  constexpr int kWidth = Sizes::kDk + Sizes::kDv;
  float* row = sums + (threadIdx.x / 32 * 16 + lane_id() / 4) * kWidth + lane_id() % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float* to = row + i * 8 * kWidth;
#pragma unroll
    for (int n = 0; n < Sizes::kDk / 8; ++n)
      *reinterpret_cast<float2*>(to + 8 * n) =
          make_float2(d_k[4 * n + 2 * i], d_k[4 * n + 2 * i + 1]);
#pragma unroll
    for (int n = 0; n < Sizes::kDv / 8; ++n)
      *reinterpret_cast<float2*>(to + Sizes::kDk + 8 * n) =
          make_float2(d_v[4 * n + 2 * i], d_v[4 * n + 2 * i + 1]);
  }
}

template <class Sizes, class Items>
__device__ __forceinline__ void key_gradients_block(const BackwardParams& p, const Items& items,
                                                    const KeyOutputs& out) {
  using T = typename Sizes::Storage;
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const KeySharedSm90<Sizes> shared(dynamic_shared());
  if (item.entries) {
    for (int i = static_cast<int>(threadIdx.x); i < item.queries; i += Sizes::kThreads)
      shared.entries[i] = item.entries[item.first + i];
  }
  load_keys<Sizes>(p, item, shared);
  __syncthreads();  // the entries are there
  const ItemRows rows(p, out, item, shared.entries, Sizes::kKeys);
  bool partly = load_item_rows<Sizes>(rows, shared, 0, 0);
  commit_copies();

  float d_k[Sizes::kDk / 2] = {}, d_v[Sizes::kDv / 2] = {};
  int stage = 0;
  for (int first = 0; first < rows.count(); first += Sizes::kRows) {
    settle_copies();
    const bool masked = __syncthreads_or(partly) != 0;
    float weights[32], d_s[32];
    sm90::wgmma_fence();
    begin_rows_product<T, Sizes::kDk>(weights, shared.k(), shared.q(stage));
    sm90::wgmma_commit();
    begin_rows_product<T, Sizes::kDv>(d_s, shared.v(), shared.d_o(stage));
    sm90::wgmma_commit();
    if (first + Sizes::kRows < rows.count()) {
      partly = load_item_rows<Sizes>(rows, shared, first + Sizes::kRows, stage ^ 1);
      commit_copies();
    }
    sm90::wgmma_wait<1>(weights);
    weigh_keys(shared, stage, masked, p.attend.scale_log2, weights);
    sm90::wgmma_wait<0>(d_s);
    logit_gradients(shared, stage, weights, d_s);
    std::uint32_t of_weights[4][4], of_logits[4][4];
    as_fragments<T>(weights, of_weights);
    as_fragments<T>(d_s, of_logits);
    sm90::pin(d_v);
    sm90::pin(d_k);
    sm90::wgmma_fence();
    begin_add_product<T, Sizes::kDv>(d_v, of_weights, shared.d_o(stage), true);
    begin_add_product<T, Sizes::kDk>(d_k, of_logits, shared.q(stage), true);
    sm90::wgmma_commit();
    if constexpr (Sizes::kQueries) keep_logit_gradients(shared, of_logits);
    sm90::wgmma_wait<0>(d_v);
    sm90::pin(d_k);
    if constexpr (Sizes::kQueries) {
      __syncthreads();  // all warps kept their gradients of logits
      add_queries<Sizes>(shared, out, stage, p.scale);
    }
    stage ^= 1;
  }
  write_sums<Sizes>(out.sums + item.place * Sizes::kKeys * (Sizes::kDk + Sizes::kDv), d_k, d_v);
}

template <class Sizes, class Items>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    key_gradients_sm90_kernel(const __grid_constant__ BackwardParams p,
                              const __grid_constant__ Items items,
                              const __grid_constant__ KeyOutputs out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  key_gradients_block<Sizes>(p, items, out);
#else
  __trap();
#endif
}

template <class Sizes, class Items>
void launch_key_gradients_sm90(const BackwardParams& p, const Items& items, const KeyOutputs& out,
                               CUstream_st* stream) {
  launch(key_gradients_sm90_kernel<Sizes, Items>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         Sizes::kBytes, stream, p, items, out);
}

}  // namespace nsa::cuda
