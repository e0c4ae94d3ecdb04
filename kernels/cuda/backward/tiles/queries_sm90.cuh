// The gradient of q in attention to a band on Hopper: as queries_mma.cuh, but one warpgroup has all
// 64 rows, TMA brings the keys, and products are made by WGMMA.
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

template <class T, int kDim>
struct QuerySizesSm90 {
  using Storage = T;
  static constexpr int kDk = kDim, kDv = kDim, kRows = kTileRows, kKeys = kTileRows;
  static constexpr int kThreads = 128, kBlocks = kDim == 64 ? 4 : 2;
  static constexpr int kStages = 2;
  static constexpr std::uint32_t kKBytes = kSwizzledTile<kDim>, kStageBytes = 2 * kKBytes;
  static constexpr std::size_t kBytes =
      1024 + (1 + kStages) * kStageBytes + kStages * sizeof(sm90::Barrier);
};

/// Weights and gradients of logits of this thread's rows, for the keys from `first` on.
__device__ __forceinline__ void weigh_rows(const QueryRows& rows, int first, float scale_log2,
                                           float (&p)[32]) {
  const bool whole = first >= max(rows.seen[0].begin, rows.seen[1].begin) &&
                     first + kTileRows <= min(rows.seen[0].end, rows.seen[1].end);
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c)
      p[4 * n + c] = exp2_fast(fmaf(p[4 * n + c], scale_log2, -rows.lse[c / 2]));
  if (whole) return;
  const int key = first + static_cast<int>(lane_id()) % 4 * 2;
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int at = key + 8 * n + c % 2;
      if (at < rows.seen[c / 2].begin || at >= rows.seen[c / 2].end) p[4 * n + c] = 0.0f;
    }
}

/// The tile's rows to where they belong, through shared memory: threads next to each other write
/// pieces of a row next to each other, and what is there is read before anything is written.
template <class T, int kDim>
__device__ __forceinline__ void put_query_rows(const BackwardParams& p, const RowTile& at,
                                               float* shared, int own,
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
  const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const int row = (thread + 128 * j) / kPieces, column = (thread + 128 * j) % kPieces * 8;
    if (at.holds(row)) pieces[j].find(p.d_q, at.token(row), at.head(row), column);
  }
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const int row = (thread + 128 * j) / kPieces, column = (thread + 128 * j) % kPieces * 8;
    if (at.holds(row)) pieces[j].put(p.d_q, shared + row * kRow + column);
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
  const std::uint32_t q = sm90::shared_address(memory), d_o = q + Sizes::kKBytes;
  const auto k_of = [&](int stage) {
    return q + (1 + static_cast<std::uint32_t>(stage)) * Sizes::kStageBytes;
  };
  const auto full = [&](int stage) {
    return k_of(Sizes::kStages) + static_cast<std::uint32_t>(stage) * 8;
  };
  const auto first_row =
      static_cast<int>(compressed ? at.sequence.cmp_begin : at.sequence.kv_begin);
  const int begin = band_keys(p.band, at.position(0)).begin;
  const int end = band_keys(p.band, at.position(Sizes::kRows - 1)).end;
  sm90::Ring<Sizes::kStages> filled;
  // By one thread; keys after the band come along and are masked.
  const auto load_keys = [&](int first) {
    if (threadIdx.x == 0 && first < end) {
      sm90::barrier_expect(full(filled.stage), static_cast<int>(Sizes::kStageBytes));
      sm90::copy_key_tile<Sizes>(maps, k_of(filled.stage), at.kv_head, first_row + first,
                                 full(filled.stage));
    }
    filled.next();
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Sizes::kStages; ++stage) sm90::barrier_init(full(stage), 1);
    sm90::barrier_fence();
  }
  load_keys(begin);
#pragma unroll
  for (int j = 0; j < Sizes::kRows / 16; ++j) {
    const int row = static_cast<int>(threadIdx.x) / 8 + 16 * j;
    const bool exists = at.holds(row);
    copy_tile_row<T, Sizes::kDk>(
        q, row, exists ? head_row<const T>(a.q, at.token(row), at.head(row)) : nullptr,
        static_cast<const T*>(a.q.data));
    copy_tile_row<T, Sizes::kDv>(
        d_o, row, exists ? head_row<const T>(p.d_o, at.token(row), at.head(row)) : nullptr,
        static_cast<const T*>(p.d_o.data));
  }
  commit_copies();

  const int own = static_cast<int>(threadIdx.x / 32 * 16 + lane_id() / 4);
  const QueryRows rows = query_rows(p, at, own);
  float d_q[Sizes::kDk / 2] = {};
  settle_copies();
  sm90::Ring<Sizes::kStages> ring;
  for (int first = begin; first < end; first += Sizes::kKeys, ring.next()) {
    __syncthreads();  // the queries are there, and the keys before were read
    load_keys(first + Sizes::kKeys);
    sm90::barrier_wait(full(ring.stage), ring.parity);
    const std::uint32_t k = k_of(ring.stage);
    float weights[32], d_s[32];
    sm90::wgmma_fence();
    begin_rows_product<T, Sizes::kDk>(weights, q, k);
    sm90::wgmma_commit();
    begin_rows_product<T, Sizes::kDv>(d_s, d_o, k + Sizes::kKBytes);
    sm90::wgmma_commit();
    sm90::wgmma_wait<1>(weights);
    weigh_rows(rows, first, a.scale_log2, weights);
    sm90::wgmma_wait<0>(d_s);
#pragma unroll
    for (int i = 0; i < 32; ++i) d_s[i] = weights[i] * (d_s[i] - rows.mean[i % 4 / 2]);
    std::uint32_t of_logits[4][4];
    as_fragments<T>(d_s, of_logits);
    sm90::pin(d_q);
    sm90::wgmma_fence();
    begin_add_product<T, Sizes::kDk>(d_q, of_logits, k, true);
    sm90::wgmma_commit();
    sm90::wgmma_wait<0>(d_q);
  }
  __syncthreads();  // all products have read the keys
  put_query_rows<T, Sizes::kDk>(p, at, reinterpret_cast<float*>(memory), own, d_q);
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
  launch(query_gradient_sm90_kernel<Sizes>,
         std::int64_t{RowTile::tiles(p.attend, p.attend.group, Sizes::kRows)} * p.attend.kv_heads,
         Sizes::kThreads, Sizes::kBytes, stream, p, make_key_maps(p.attend, kDtype, Sizes::kKeys),
         compressed);
}

}  // namespace nsa::cuda
