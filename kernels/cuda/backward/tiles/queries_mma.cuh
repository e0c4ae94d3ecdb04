// The gradient of q in attention to a band, by tensor cores, for bf16 and fp16. A block of four
// warps keeps a tile of 64 rows (query, head of the group), 16 of each warp, and lets the keys that
// they see pass by.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/backward/tiles/products.cuh"
#include "cuda/backward/tiles/query_rows.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/exp2.cuh"

namespace nsa::cuda {

template <class T, int kDimK, int kDimV>
struct QuerySizesBackward {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kRows = 64, kThreads = 128;
  static constexpr bool kNarrow = kDk + kDv <= 128;
  static constexpr int kKeys = kNarrow ? 64 : 32;  // that pass by at a time
  static constexpr int kBlocks = kNarrow ? 3 : 2;  // of an SM
};

template <class Sizes>
struct QueryShared {
  using T = typename Sizes::Storage;
  static constexpr int kKElements = Sizes::kKeys * (Sizes::kDk + 8);
  static constexpr int kVElements = Sizes::kKeys * (Sizes::kDv + 8);
  static constexpr int kQElements = Sizes::kRows * (Sizes::kDk + 8);
  static constexpr int kOElements = Sizes::kRows * (Sizes::kDv + 8);
  static constexpr std::size_t kBytes =
      static_cast<std::size_t>(2 * (kKElements + kVElements) + kQElements + kOElements) * 2;

  T *q, *d_o;

  __device__ explicit QueryShared(unsigned char* memory) {
    q = reinterpret_cast<T*>(memory);
    d_o = q + kQElements;
    k_ = d_o + kOElements;
  }
  /// Of a stage of keys.
  __device__ T* k(int stage) const { return k_ + stage * kKElements; }
  __device__ T* v(int stage) const { return k_ + 2 * kKElements + stage * kVElements; }

 private:
  T* k_;
};

/// One half tile of 32 keys from number `first` on.
template <class Sizes>
__device__ __forceinline__ void add_keys(const RowsOperand<Sizes::kDk, Sizes::kNarrow>& q,
                                         const RowsOperand<Sizes::kDv, Sizes::kNarrow>& d_o,
                                         const QueryRows& rows, std::uint32_t k, std::uint32_t v,
                                         int first, float scale_log2,
                                         float (&d_q)[Sizes::kDk / 8][4]) {
  using T = typename Sizes::Storage;
  float p[4][4], d_s[4][4];
  multiply_rows<T>(p, q, k);
  multiply_rows<T>(d_s, d_o, v);
  const bool whole = first >= max(rows.seen[0].begin, rows.seen[1].begin) &&
                     first + 32 <= min(rows.seen[0].end, rows.seen[1].end);
  const int key = first + static_cast<int>(lane_id()) % 4 * 2;
#pragma unroll
  for (int n = 0; n < 4; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int row = c / 2, at = key + 8 * n + c % 2;
      p[n][c] = exp2_fast(fmaf(p[n][c], scale_log2, -rows.lse[row]));
      if (!whole && (at < rows.seen[row].begin || at >= rows.seen[row].end)) p[n][c] = 0.0f;
      d_s[n][c] = p[n][c] * (d_s[n][c] - rows.mean[row]);
    }
#pragma unroll
  for (int kk = 0; kk < 2; ++kk) {
    std::uint32_t a[4];
    as_fragment<T>(d_s, kk, a);
    add_product<T, Sizes::kDk>(d_q, a,
                               k + static_cast<std::uint32_t>(kk) * 16 * kTileRow<Sizes::kDk>);
  }
}

/// The gradients of this block's tile of rows, from the keys that a Pass lets by (BandPass), which
/// is made of the tile and `of`.
template <class Sizes, class Pass, class... Of>
__device__ __forceinline__ void make_query_gradients(const BackwardParams& p, Of... of) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const RowTile at(a, a.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  const Pass pass(p, at, Sizes::kRows, of...);
  const QueryShared<Sizes> shared(dynamic_shared());
  load_tile<T, Sizes::kDk, Sizes::kRows>(shared.q, a.dk, a.q.vectors, [&](int row) -> const T* {
    return at.holds(row) ? head_row<const T>(a.q, at.token(row), at.head(row)) : nullptr;
  });
  load_tile<T, Sizes::kDv, Sizes::kRows>(shared.d_o, a.dv, p.d_o.vectors, [&](int row) -> const T* {
    return at.holds(row) ? head_row<const T>(p.d_o, at.token(row), at.head(row)) : nullptr;
  });
  const auto load_keys = [&](int first, int stage) {
    const int last = min(pass.after(first), pass.end);
    load_tile<T, Sizes::kDk, Sizes::kKeys>(
        shared.k(stage), a.dk, a.k.vectors, [&](int key) -> const T* {
          return first + key < last ? head_row<const T>(a.k, pass.base + first + key, at.kv_head)
                                    : nullptr;
        });
    load_tile<T, Sizes::kDv, Sizes::kKeys>(
        shared.v(stage), a.dv, a.v.vectors, [&](int key) -> const T* {
          return first + key < last ? head_row<const T>(a.v, pass.base + first + key, at.kv_head)
                                    : nullptr;
        });
    commit_copies();
  };
  load_keys(pass.begin, 0);

  const auto warp = threadIdx.x / 32;
  const int own = static_cast<int>(16 * warp + lane_id() / 4);
  QueryRows rows = query_rows(p, at, own);
  RowsOperand<Sizes::kDk, Sizes::kNarrow> q(shared_address_of(shared.q) +
                                            warp * 16 * kTileRow<Sizes::kDk>);
  RowsOperand<Sizes::kDv, Sizes::kNarrow> d_o(shared_address_of(shared.d_o) +
                                              warp * 16 * kTileRow<Sizes::kDv>);
  float d_q[Sizes::kDk / 8][4] = {};
  int stage = 0;
  for (int first = pass.begin; first < pass.end; first = pass.after(first)) {
    wait_copies<0>();
    __syncthreads();
    if (first == pass.begin) {
      q.hold();
      d_o.hold();
    }
    if (pass.after(first) < pass.end) load_keys(pass.after(first), stage ^ 1);
    if constexpr (Pass::kByTile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) rows.seen[i] = pass.seen(own + 8 * i, first);
    }
#pragma unroll 1
    for (int half = 0; half < Sizes::kKeys / 32; ++half) {
      const auto skipped = static_cast<std::uint32_t>(32 * half);
      add_keys<Sizes>(q, d_o, rows,
                      shared_address_of(shared.k(stage)) + skipped * kTileRow<Sizes::kDk>,
                      shared_address_of(shared.v(stage)) + skipped * kTileRow<Sizes::kDv>,
                      first + 32 * half, a.scale_log2, d_q);
    }
    stage ^= 1;
  }
  wait_copies<0>();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = own + 8 * i;
    if (!at.holds(row)) continue;
#pragma unroll
    for (int n = 0; n < Sizes::kDk / 8; ++n)
      put_gradient_pair<T>(p.d_q, at.token(row), at.head(row),
                           8 * n + static_cast<int>(lane_id()) % 4 * 2, a.dk,
                           d_q[n][2 * i] * p.scale, d_q[n][2 * i + 1] * p.scale);
  }
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    query_gradient_kernel(const __grid_constant__ BackwardParams p, bool compressed) {
  make_query_gradients<Sizes, BandPass<Sizes::kKeys>>(p, compressed);
}

template <class Sizes>
void launch_query_gradient(const BackwardParams& p, bool compressed, CUstream_st* stream) {
  launch_row_tiles<Sizes>(query_gradient_kernel<Sizes>, QueryShared<Sizes>::kBytes, stream, p,
                          compressed);
}

}  // namespace nsa::cuda
