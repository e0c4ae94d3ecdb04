// Gradients of K and V, and of q from the same logits where it is asked, without tensor cores.
#pragma once

#include "cuda/backward/tiles/simt.cuh"

namespace nsa::cuda {

/// The rows from `first` on, with what is known of each.
template <class Sizes>
__device__ void load_rows_simt(const ItemRows& rows, const SimtShared<Sizes>& shared, int first) {
  using T = typename Sizes::Storage;
  const AttendParams& a = rows.p.attend;
  const int head = rows.item.kv_head * a.group;
  const auto load = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
    load_simt<Sizes>(tile, Sizes::kRows, dim, [&](int r) -> const T* {
      const ItemRows::Row row = rows.row(first + r);
      return row.token < 0 ? nullptr : head_row<const T>(tensor, row.token, head + row.head);
    });
  };
  load(shared.q, a.q, a.dk);
  load(shared.d_o, rows.p.d_o, a.dv);
  const int r = static_cast<int>(threadIdx.x);
  if (r >= Sizes::kRows) return;
  const ItemRows::Row row = rows.row(first + r);
  const auto* stats = reinterpret_cast<const float2*>(rows.p.stats);
  shared.stats[r] = row.token < 0 ? make_float2(INFINITY, 0.0f)
                                  : stats[row.token * a.kv_heads * a.group + head + row.head];
  shared.seen[r] = rows.seen(row);
  shared.place[r] = rows.place(row);
}

/// The rows' gradient of q from this tile of keys.
template <class Sizes>
__device__ void put_queries_simt(const SimtShared<Sizes>& shared, const KeyOutputs& out,
                                 float scale) {
  constexpr int kOwn = Sizes::kRows / 4;
  float sums[kOwn][Sizes::kColumns] = {};
  add_keys_simt<Sizes>(sums, shared.d_s, shared.k);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const std::int64_t place = shared.place[kOwn * simt_group() + i];
    if (place < 0) continue;
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      const std::int64_t at = place * Sizes::kWidth + simt_column() + 64 * j;
      if (out.query == QueryGradient::atomic) {
        atomicAdd(out.d_q_sum + at, sums[i][j] * scale);
      } else {
        static_cast<float*>(out.partial)[at] = sums[i][j] * scale;
      }
    }
  }
}

template <class Sizes>
__device__ void load_tile_keys_simt(const BackwardParams& p, const KeyItem& item,
                                    const SimtShared<Sizes>& shared) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const KeyTile& tile = item.keys;
  load_simt<Sizes>(shared.k, Sizes::kKeys, a.dk, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.k, tile.row + key, item.kv_head) : nullptr;
  });
  load_simt<Sizes>(shared.v, Sizes::kKeys, a.dv, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.v, tile.row + key, item.kv_head) : nullptr;
  });
}

/// What the rows of an item add to the gradients of its tile of keys, K beside V.
template <class Sizes>
__device__ void write_sums_simt(float* sums, const KeyItem& item,
                                const float (&d_k)[8][Sizes::kColumns],
                                const float (&d_v)[8][Sizes::kColumns]) {
  float* to = sums + item.place * Sizes::kKeys * 2 * Sizes::kWidth;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float* row = to + (8 * simt_group() + i) * 2 * Sizes::kWidth + simt_column();
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      row[64 * j] = d_k[i][j];
      row[Sizes::kWidth + 64 * j] = d_v[i][j];
    }
  }
}

template <class Sizes, class Items>
__global__ void __launch_bounds__(Sizes::kThreads)
    key_gradients_simt_kernel(const __grid_constant__ BackwardParams p,
                              const __grid_constant__ Items items,
                              const __grid_constant__ KeyOutputs out) {
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const SimtShared<Sizes> shared(dynamic_shared());
  const AttendParams& a = p.attend;
  load_tile_keys_simt<Sizes>(p, item, shared);
  const int* entries = item.entries ? item.entries + item.first : nullptr;
  const ItemRows rows(p, out, item, entries, Sizes::kKeys);
  const int dk = (a.dk + 3) / 4 * 4, dv = (a.dv + 3) / 4 * 4;
  float d_k[8][Sizes::kColumns] = {}, d_v[8][Sizes::kColumns] = {};
  for (int first = 0; first < rows.count(); first += Sizes::kRows) {
    load_rows_simt<Sizes>(rows, shared, first);
    __syncthreads();
    weigh_simt<Sizes>(shared, dk, dv, a.scale_log2);
    __syncthreads();
    add_rows_simt<Sizes>(d_v, shared.p, shared.d_o);
    add_rows_simt<Sizes>(d_k, shared.d_s, shared.q);
    if (out.query != QueryGradient::apart) put_queries_simt<Sizes>(shared, out, p.scale);
    __syncthreads();
  }
  write_sums_simt<Sizes>(out.sums, item, d_k, d_v);
}

template <class Sizes, class Items>
void launch_key_gradients_simt(const BackwardParams& p, const Items& items, const KeyOutputs& out,
                               CUstream_st* stream) {
  launch(key_gradients_simt_kernel<Sizes, Items>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         Sizes::kBytes, stream, p, items, out);
}

}  // namespace nsa::cuda
