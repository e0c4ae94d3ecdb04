// `gather` backward by tensor cores, for bf16 and fp16. A thread block has one query and KV head:
// the heads of the group are the rows of a tile of 16, and the keys that the ranges name pass by,
// 16 of each warp's at a time. Their gradients are added up in fp32 by atomic operations, as the
// gradient of an index is in the frameworks; the row's own stays in registers.
#pragma once

#include "attend_selected/cuda/gather_backward/simt.cuh"
#include "cuda/backward/launch_mma.cuh"

namespace nsa::cuda {

template <class T, int kDimK, int kDimV>
struct GatherSizes {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kKeys = 64, kRows = 16, kThreads = 128;
  static constexpr std::uint32_t kWeightRow = (kRows + 8) * 2;
};

template <class Sizes>
struct GatherShared {
  using T = typename Sizes::Storage;
  static constexpr int kWideK = Sizes::kDk + 8, kWideV = Sizes::kDv + 8;
  static constexpr std::size_t kBytes =
      static_cast<std::size_t>((Sizes::kKeys + Sizes::kRows) * (kWideK + kWideV)) * 2 +
      Sizes::kKeys * Sizes::kWeightRow + Sizes::kRows * 8;

  T *k, *v, *q, *d_o, *weights;  // weights: gradients of logits, [keys, rows]
  float2* stats;
  int* ints;  // keys of the tile, then the ranges

  __device__ explicit GatherShared(unsigned char* memory) {
    k = reinterpret_cast<T*>(memory);
    v = k + Sizes::kKeys * kWideK;
    q = v + Sizes::kKeys * kWideV;
    d_o = q + Sizes::kRows * kWideK;
    weights = d_o + Sizes::kRows * kWideV;
    stats = reinterpret_cast<float2*>(weights + Sizes::kKeys * Sizes::kWeightRow / 2);
    ints = reinterpret_cast<int*>(stats + Sizes::kRows);
  }
};

/// Adds the product of a warp's 16 keys with the rows of a tile to their sums at to(key).
template <class T, int kDim, class To>
__device__ void add_key_gradients(const std::uint32_t (&weights)[4], std::uint32_t tile, int dim,
                                  To to) {
#pragma unroll 1
  for (int column = 0; column < kDim; column += 32) {
    if (column >= dim) return;
    float c[4][4] = {};
    add_product<T, kDim>(c, weights, tile + static_cast<std::uint32_t>(column) * 2);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float* row = to(i);
      if (!row) continue;
#pragma unroll
      for (int n = 0; n < 4; ++n)
        atomic_add_pair(row + column + 8 * n + static_cast<int>(lane_id()) % 4 * 2, c[n][2 * i],
                        c[n][2 * i + 1]);
    }
  }
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    gather_gradients_kernel(const __grid_constant__ BackwardParams p,
                            const __grid_constant__ GatherRows rows) {
  using T = typename Sizes::Storage;
  constexpr int kDk = Sizes::kDk, kDv = Sizes::kDv;
  const AttendParams& a = p.attend;
  RangesRow row;
  row.find(a, static_cast<unsigned>(rows.first) + blockIdx.x);
  const GatherShared<Sizes> shared(dynamic_shared());
  const int head = row.kv_head * a.group, thread = static_cast<int>(threadIdx.x);
  load_tile<T, kDk, Sizes::kRows>(shared.q, a.dk, a.q.vectors, [&](int r) -> const T* {
    return r < a.group ? head_row<const T>(a.q, row.token, head + r) : nullptr;
  });
  load_tile<T, kDv, Sizes::kRows>(shared.d_o, a.dv, p.d_o.vectors, [&](int r) -> const T* {
    return r < a.group ? head_row<const T>(p.d_o, row.token, head + r) : nullptr;
  });
  commit_copies();
  if (thread < Sizes::kRows) shared.stats[thread] = gather_stats(p, row, thread);
  row.load(a, shared.ints + Sizes::kKeys);

  const std::uint32_t lane = lane_id(), warp = threadIdx.x / 32;
  const std::uint32_t k = shared_address_of(shared.k), v = shared_address_of(shared.v);
  const std::uint32_t q = shared_address_of(shared.q), d_o = shared_address_of(shared.d_o);
  const std::uint32_t weights = shared_address_of(shared.weights);
  const RowsOperand<kDk, false> own_k(k + warp * 16 * kTileRow<kDk>);
  const RowsOperand<kDv, false> own_v(v + warp * 16 * kTileRow<kDv>);
  constexpr std::uint32_t kColumns = kDk / 4;  // of the gradient of q, of a warp
  float d_q[kColumns / 8][4] = {};
  for (int first = 0; first < row.keys(); first += Sizes::kKeys) {
    if (thread < Sizes::kKeys) shared.ints[thread] = row.row_of(first + thread);
    __syncthreads();
    const auto load = [&](auto* tile, const HeadTensor<const void>& tensor, int dim, auto width) {
      load_tile<T, width(), Sizes::kKeys>(tile, dim, tensor.vectors, [&](int key) -> const T* {
        const int at = shared.ints[key];
        return at >= 0 ? head_row<const T>(tensor, row.first_row + at, row.kv_head) : nullptr;
      });
    };
    load(shared.k, a.k, a.dk, std::integral_constant<int, kDk>{});
    load(shared.v, a.v, a.dv, std::integral_constant<int, kDv>{});
    commit_copies();
    wait_copies<0>();
    __syncthreads();

    float w[2][4], d_s[2][4];  // [keys, rows], as in keys_mma.cuh
    multiply_rows<T>(w, own_k, q);
    multiply_rows<T>(d_s, own_v, d_o);
    const int own[2] = {shared.ints[16 * warp + lane / 4], shared.ints[16 * warp + lane / 4 + 8]};
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float2 stats = shared.stats[8 * n + static_cast<int>(lane) % 4 * 2 + c % 2];
        const float weight = exp2_fast(fmaf(w[n][c], a.scale_log2, -stats.x));
        w[n][c] = own[c / 2] >= 0 ? weight : 0.0f;
        d_s[n][c] = w[n][c] * (d_s[n][c] - stats.y);
      }
    std::uint32_t fragment[4];
    const auto sums_of = [&](int i) -> float* {
      if (own[i] < 0) return nullptr;
      return rows.sums + ((row.first_row + own[i]) * a.kv_heads + row.kv_head) * (kDk + kDv);
    };
    if (rows.sums) {
      as_fragment<T>(w, 0, fragment);
      add_key_gradients<T, kDv>(fragment, d_o, a.dv, [&](int i) {
        float* sums = sums_of(i);
        return sums ? sums + kDk : nullptr;
      });
    }
    as_fragment<T>(d_s, 0, fragment);
    if (rows.sums) add_key_gradients<T, kDk>(fragment, q, a.dk, sums_of);
    auto* to = reinterpret_cast<unsigned char*>(shared.weights) +
               (16 * warp + lane / 4) * Sizes::kWeightRow + lane % 4 * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<std::uint32_t*>(to + i % 2 * 8 * Sizes::kWeightRow + i / 2 * 16) =
          fragment[i];
    __syncthreads();
#pragma unroll
    for (std::uint32_t kk = 0; kk < Sizes::kKeys / 16; ++kk) {
      load_matrices_transposed(
          fragment,
          weights + (kk * 16 + lane % 8 + lane / 16 * 8) * Sizes::kWeightRow + lane / 8 % 2 * 16);
      add_product<T, kDk>(d_q, fragment, k + kk * 16 * kTileRow<kDk> + warp * kColumns * 2);
    }
    __syncthreads();  // the next keys overwrite these
  }
  wait_copies<0>();
  if (!p.d_q.data) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int r = static_cast<int>(lane) / 4 + 8 * i;
    if (r >= a.group) continue;
#pragma unroll
    for (std::uint32_t n = 0; n < kColumns / 8; ++n)
      put_gradient_pair<T>(p.d_q, row.token, head + r,
                           static_cast<int>(warp * kColumns + 8 * n + lane % 4 * 2), a.dk,
                           d_q[n][2 * i] * p.scale, d_q[n][2 * i + 1] * p.scale);
  }
}

template <class T>
void launch_gather_gradients(const BackwardParams& p, const GatherRows& rows, CUstream_st* stream) {
  with_backward_widths<T>(
      p.attend,
      [&](auto dk, auto dv) {
        using Sizes = GatherSizes<T, dk(), dv()>;
        launch(gather_gradients_kernel<Sizes>, rows.count, Sizes::kThreads,
               GatherShared<Sizes>::kBytes + gather_ints<Sizes>(p), stream, p, rows);
      },
      [&] { launch_gather_gradients_simt<SimtSizes<T, 256>>(p, rows, stream); });
}

}  // namespace nsa::cuda
