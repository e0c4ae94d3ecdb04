// Gradients of K and V by tensor cores, for bf16 and fp16. A block of four warps keeps a tile of 64
// keys and lets the rows (query, head of the group) that see them pass by. Each warp has 16 keys:
// its logits are transposed, [keys, rows], so that their weights are at once an operand of the
// products with d_o and q, and K and V stay in registers where they are narrow.
#pragma once

#include "cuda/backward/tiles/item_rows.cuh"
#include "cuda/backward/tiles/products.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/exp2.cuh"

namespace nsa::cuda {

template <class T, int kDimK, int kDimV, bool kAlsoQueries>
struct KeySizes {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kKeys = 64, kThreads = 128;
  static constexpr bool kQueries = kAlsoQueries;
  static constexpr bool kNarrow = kDk + kDv <= 128;
  static constexpr int kRows = kNarrow ? 64 : 32;  // that pass by at a time
  static constexpr int kBlocks = kNarrow ? 3 : 2;  // of an SM
  static constexpr int kMostEntries = 1024;        // of an item
  static constexpr std::uint32_t kWeightRow = (kRows + 8) * 2;
};

/// Shared memory of a block.
template <class Sizes>
struct KeyShared {
  using T = typename Sizes::Storage;
  static constexpr int kKElements = Sizes::kKeys * (Sizes::kDk + 8);
  static constexpr int kVElements = Sizes::kKeys * (Sizes::kDv + 8);
  static constexpr int kQElements = Sizes::kRows * (Sizes::kDk + 8);
  static constexpr int kOElements = Sizes::kRows * (Sizes::kDv + 8);
  static constexpr int kWeights = Sizes::kQueries ? Sizes::kKeys * (Sizes::kRows + 8) : 0;
  static constexpr std::size_t kBytes =
      static_cast<std::size_t>(kKElements + kVElements + 2 * (kQElements + kOElements) + kWeights) *
          2 +
      2 * static_cast<std::size_t>(Sizes::kRows) * 24 + Sizes::kMostEntries * 4;

  T *k, *v, *weights;  // gradients of logits, [keys, rows]
  int* entries;

  __device__ explicit KeyShared(unsigned char* memory) {
    k = reinterpret_cast<T*>(memory);
    v = k + kKElements;
    q_ = v + kVElements;
    weights = q_ + 2 * (kQElements + kOElements);
    stats_ = reinterpret_cast<float2*>(weights + kWeights);
    entries = reinterpret_cast<int*>(stats_ + 2 * Sizes::kRows * 3);
  }
  /// Of a stage of rows.
  __device__ T* q(int stage) const { return q_ + stage * kQElements; }
  __device__ T* d_o(int stage) const { return q_ + 2 * kQElements + stage * kOElements; }
  /// Log-sum-exp and sum of d_o o of each row.
  __device__ float2* stats(int stage) const { return stats_ + stage * Sizes::kRows; }
  /// Keys of the tile that it sees.
  __device__ int2* seen(int stage) const {
    return reinterpret_cast<int2*>(stats_ + (2 + stage) * Sizes::kRows);
  }
  /// Where its partial result goes.
  __device__ std::int64_t* place(int stage) const {
    return reinterpret_cast<std::int64_t*>(stats_ + (4 + stage) * Sizes::kRows);
  }

 private:
  T* q_;
  float2* stats_;
};

/// Begins to load the rows from `first` on; returns whether one of this thread's rows does not see
/// the whole tile.
template <class Sizes>
__device__ bool load_item_rows(const ItemRows& rows, const KeyShared<Sizes>& shared, int first,
                               int stage) {
  using T = typename Sizes::Storage;
  const AttendParams& a = rows.p.attend;
  const int head = rows.item.kv_head * a.group;
  T *q = shared.q(stage), *d_o = shared.d_o(stage);
#pragma unroll
  for (int j = 0; j < Sizes::kRows / 16; ++j) {
    const int r = static_cast<int>(threadIdx.x) / 8 + 16 * j;
    const ItemRows::Row row = rows.row(first + r);
    const bool exists = row.token >= 0;
    const T* q_row = exists ? head_row<const T>(a.q, row.token, head + row.head) : nullptr;
    const T* o_row = exists ? head_row<const T>(rows.p.d_o, row.token, head + row.head) : nullptr;
    const int column = static_cast<int>(threadIdx.x) % 8 * 8;
#pragma unroll
    for (int c = 0; c < Sizes::kDk; c += 64)
      load_piece(q + r * (Sizes::kDk + 8) + c + column, q_row, c + column, a.dk, a.q.vectors);
#pragma unroll
    for (int c = 0; c < Sizes::kDv; c += 64)
      load_piece(d_o + r * (Sizes::kDv + 8) + c + column, o_row, c + column, a.dv,
                 rows.p.d_o.vectors);
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

/// A warp's 16 keys and their gradients.
template <class Sizes>
class KeyWarp {
 public:
  using T = typename Sizes::Storage;
  __device__ KeyWarp(const KeyShared<Sizes>& shared, float scale_log2)
      : shared_(shared),
        k_(shared_address_of(shared.k) + warp() * 16 * kTileRow<Sizes::kDk>),
        v_(shared_address_of(shared.v) + warp() * 16 * kTileRow<Sizes::kDv>),
        scale_log2_(scale_log2) {
#pragma unroll
    for (int n = 0; n < Sizes::kDk / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) d_k_[n][i] = 0.0f;
#pragma unroll
    for (int n = 0; n < Sizes::kDv / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) d_v_[n][i] = 0.0f;
  }
  /// Once the keys are in shared memory.
  __device__ void hold() {
    k_.hold();
    v_.hold();
  }
  /// Adds what the rows of a stage give; `masked` where some do not see the whole tile.
  __device__ void add(int stage, bool masked) {
#pragma unroll 1
    for (int half = 0; half < Sizes::kRows / 32; ++half) add_half(stage, 32 * half, masked);
  }
  /// To [keys, kDk + kDv].
  __device__ void write(float* sums) const {
    constexpr int kWidth = Sizes::kDk + Sizes::kDv;
    float* row = sums + (16 * warp() + lane_id() / 4) * kWidth + lane_id() % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float* to = row + i * 8 * kWidth;
#pragma unroll
      for (int n = 0; n < Sizes::kDk / 8; ++n)
        *reinterpret_cast<float2*>(to + 8 * n) = make_float2(d_k_[n][2 * i], d_k_[n][2 * i + 1]);
#pragma unroll
      for (int n = 0; n < Sizes::kDv / 8; ++n)
        *reinterpret_cast<float2*>(to + Sizes::kDk + 8 * n) =
            make_float2(d_v_[n][2 * i], d_v_[n][2 * i + 1]);
    }
  }

 private:
  __device__ static std::uint32_t warp() { return threadIdx.x / 32; }

  __device__ __forceinline__ void add_half(int stage, int first, bool masked) {
    const auto rows = static_cast<std::uint32_t>(first);
    const std::uint32_t q = shared_address_of(shared_.q(stage)) + rows * kTileRow<Sizes::kDk>;
    const std::uint32_t d_o = shared_address_of(shared_.d_o(stage)) + rows * kTileRow<Sizes::kDv>;
    float p[4][4], d_s[4][4];
    multiply_rows<T>(p, k_, q);
    multiply_rows<T>(d_s, v_, d_o);
    weigh(p, d_s, stage, first, masked);
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      std::uint32_t a[4];
      as_fragment<T>(p, kk, a);
      add_product<T, Sizes::kDv>(d_v_, a,
                                 d_o + static_cast<std::uint32_t>(kk) * 16 * kTileRow<Sizes::kDv>);
      as_fragment<T>(d_s, kk, a);
      add_product<T, Sizes::kDk>(d_k_, a,
                                 q + static_cast<std::uint32_t>(kk) * 16 * kTileRow<Sizes::kDk>);
      if constexpr (Sizes::kQueries) keep(a, first + 16 * kk);
    }
  }

  /// Logits to weights, and gradients of weights to gradients of logits.
  __device__ __forceinline__ void weigh(float (&p)[4][4], float (&d_s)[4][4], int stage, int first,
                                        bool masked) const {
    const auto lane = static_cast<int>(lane_id());
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int row = first + 8 * n + lane % 4 * 2;
      const float4 stats = *reinterpret_cast<const float4*>(shared_.stats(stage) + row);
#pragma unroll
      for (int c = 0; c < 4; ++c)
        p[n][c] = exp2_fast(fmaf(p[n][c], scale_log2_, -(c % 2 == 0 ? stats.x : stats.z)));
      if (masked) {
        const int4 seen = *reinterpret_cast<const int4*>(shared_.seen(stage) + row);
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int key = 16 * static_cast<int>(warp()) + lane / 4 + c / 2 * 8;
          const bool sees =
              c % 2 == 0 ? key >= seen.x && key < seen.y : key >= seen.z && key < seen.w;
          if (!sees) p[n][c] = 0.0f;
        }
      }
#pragma unroll
      for (int c = 0; c < 4; ++c)
        d_s[n][c] = p[n][c] * (d_s[n][c] - (c % 2 == 0 ? stats.y : stats.w));
    }
  }

  /// Gradients of logits, [keys, rows], for the product with K that all warps share.
  __device__ void keep(const std::uint32_t (&a)[4], int row) const {
    const std::uint32_t lane = lane_id();
    auto* to = reinterpret_cast<unsigned char*>(shared_.weights) +
               (16 * warp() + lane / 4) * Sizes::kWeightRow + static_cast<unsigned>(row) * 2 +
               lane % 4 * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<std::uint32_t*>(to + i % 2 * 8 * Sizes::kWeightRow + i / 2 * 16) = a[i];
  }

  const KeyShared<Sizes>& shared_;
  RowsOperand<Sizes::kDk, Sizes::kNarrow> k_;
  RowsOperand<Sizes::kDv, Sizes::kNarrow> v_;
  float scale_log2_;
  float d_k_[Sizes::kDk / 8][4], d_v_[Sizes::kDv / 8][4];
};

}  // namespace nsa::cuda
