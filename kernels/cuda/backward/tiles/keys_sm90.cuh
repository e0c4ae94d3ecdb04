// Gradients of K and V on Hopper: as keys_mma.cuh, but the warps of one warpgroup bring rows, and
// two or three others compute. These share 64 keys and take tiles of rows in turn, each with sums
// of its own, which are added up in order at the end; or each has 64 keys of its own, so that a
// tile of rows is brought once for all of them. Products are made by WGMMA.
#pragma once

#include "cuda/backward/tiles/passing_rows_sm90.cuh"
#include "cuda/backward/tiles/products.cuh"
#include "cuda/backward/tiles/query_piece.cuh"
#include "cuda/flash/query_of_row.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/exp2.cuh"

namespace nsa::cuda {

template <class T, int kDim, bool kAlsoQueries, bool kOwnKeys>
struct KeySizesSm90 {
  static_assert(!(kAlsoQueries && kOwnKeys), "partial gradients of q are those of 64 keys");
  using Storage = T;
  static constexpr int kConsumers = kDim == 64 ? 3 : 2;       // warpgroups that compute
  static constexpr int kTiles = kOwnKeys ? kConsumers : 1;    // of keys
  static constexpr int kReaders = kOwnKeys ? kConsumers : 1;  // warpgroups that read a tile of rows
  static constexpr int kDk = kDim, kDv = kDim, kKeys = kTiles * kTileRows, kRows = kTileRows;
  static constexpr int kProducers = kDim == 64 ? 3 : 4;  // warps that bring rows
  static constexpr int kThreads = (kConsumers + 1) * 128;
  static constexpr int kStages = kDim == 64 ? 6 : 4;
  static constexpr int kRegisters = kDim == 64 ? 160 : 240;  // of a thread that computes
  static constexpr int kProducerRegisters = kDim == 64 ? 32 : 24;
  // What the block was launched with is all there is to share.
  static constexpr int kLaunched = 65536 / kThreads / 8 * 8;
  static_assert(kConsumers * kRegisters + kProducerRegisters <= (kConsumers + 1) * kLaunched);
  static constexpr bool kQueries = kAlsoQueries;
  static constexpr std::uint32_t kWeightRow = (kRows + 8) * 2;
};

/// One of the warpgroups that compute.
template <class Sizes>
class KeyConsumer {
  using T = typename Sizes::Storage;
  static constexpr int kDk = Sizes::kDk, kDv = Sizes::kDv;

 public:
  __device__ KeyConsumer(const KeySharedSm90<Sizes>& shared, const BackwardParams& p,
                         const KeyOutputs& out, int consumer)
      : shared_(shared),
        p_(p),
        out_(out),
        consumer_(consumer),
        rows_of_tile_(queries_together<Sizes>(p.attend.group) * p.attend.group),
        query_of_(p.attend.group) {
#pragma unroll
    for (int i = 0; i < kDk / 2; ++i) d_k_[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < kDv / 2; ++i) d_v_[i] = 0.0f;
  }

  /// Zeros where no query of a tile lies, and the item's keys; all of these warpgroups together.
  __device__ void prepare(const KeyItem& item) const {
    const AttendParams& a = p_.attend;
    const int used = queries_together<Sizes>(a.group) * a.group;
    for (int tile = 0; tile < 2 * Sizes::kStages; ++tile)
      for (int row = used + row_thread(); row < kTileRows; row += kRowThreads)
        copy_tile_row<T, kDk>(shared_.q(0) + static_cast<std::uint32_t>(tile) * shared_.kTile, row,
                              nullptr, static_cast<const T*>(a.q.data));
    for (int key = row_thread(); key < Sizes::kKeys; key += kRowThreads) {
      const bool exists = key < item.keys.count;
      const std::int64_t row = item.keys.row + key;
      const int tile = key / kTileRows;
      copy_tile_row<T, kDk>(shared_.k(tile), key % kTileRows,
                            exists ? head_row<const T>(a.k, row, item.kv_head) : nullptr,
                            static_cast<const T*>(a.k.data));
      copy_tile_row<T, kDv>(shared_.v(tile), key % kTileRows,
                            exists ? head_row<const T>(a.v, row, item.kv_head) : nullptr,
                            static_cast<const T*>(a.v.data));
    }
    wait_all_copies();
    sm90::fence_shared();
    meet_all();
  }

  /// Adds what all of `tiles` tiles of rows give, or consumer, consumer + kConsumers, ... of them.
  __device__ void run(int tiles) {
    constexpr int kStep = Sizes::kConsumers / Sizes::kReaders;
    sm90::Ring<Sizes::kStages, kStep> ring{kStep == 1 ? 0 : consumer_};
    for (int tile = ring.stage; tile < tiles; tile += kStep, ring.next()) {
      sm90::barrier_wait(shared_.full(ring.stage), ring.parity);
      if (sees(ring.stage)) {
        add_rows(ring.stage);
      } else {
        release(ring.stage);
      }
    }
  }

  /// The sums to [keys, kDk + kDv]: this warpgroup's, or those of all, added up in their order.
  __device__ void write(float* sums) {
    if constexpr (Sizes::kTiles > 1) return write_own(sums + first_key() * (kDk + kDv));
    meet_all();  // every stage that was filled was waited for, and is not read any more
    if (consumer_ > 0) {
      float* to = shared_.sums(consumer_) + thread();
#pragma unroll
      for (int i = 0; i < kDk / 2; ++i) to[i * 128] = d_k_[i];
#pragma unroll
      for (int i = 0; i < kDv / 2; ++i) to[(kDk / 2 + i) * 128] = d_v_[i];
    }
    meet_all();
    if (consumer_ > 0) return;
#pragma unroll 1
    for (int other = 1; other < Sizes::kConsumers; ++other) {
      const float* from = shared_.sums(other) + thread();
#pragma unroll
      for (int i = 0; i < kDk / 2; ++i) d_k_[i] += from[i * 128];
#pragma unroll
      for (int i = 0; i < kDv / 2; ++i) d_v_[i] += from[(kDk / 2 + i) * 128];
    }
    write_own(sums);
  }

 private:
  __device__ __forceinline__ void write_own(float* sums) const {
    constexpr int kWidth = kDk + kDv;
    float* row = sums + (warp() * 16 + lane() / 4) * kWidth + lane() % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float* to = row + i * 8 * kWidth;
#pragma unroll
      for (int n = 0; n < kDk / 8; ++n)
        *reinterpret_cast<float2*>(to + 8 * n) =
            make_float2(d_k_[4 * n + 2 * i], d_k_[4 * n + 2 * i + 1]);
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n)
        *reinterpret_cast<float2*>(to + kDk + 8 * n) =
            make_float2(d_v_[4 * n + 2 * i], d_v_[4 * n + 2 * i + 1]);
    }
  }

  static constexpr int kRowThreads = Sizes::kConsumers * 16;  // eight threads copy a row

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % 128; }
  __device__ static int warp() { return thread() / 32; }
  __device__ static int lane() { return static_cast<int>(lane_id()); }
  __device__ int row_thread() const { return consumer_ * 16 + thread() / 8; }
  /// Of the item's keys: the first of this warpgroup's.
  __device__ int first_key() const { return Sizes::kTiles > 1 ? consumer_ * kTileRows : 0; }
  /// Whether a row of the stage sees any of this warpgroup's keys.
  __device__ bool sees(int stage) const {
    if constexpr (Sizes::kTiles == 1) return true;
    const RowFacts& facts = shared_.facts(stage);
    return first_seen(facts).x < first_key() + kTileRows && last_seen(facts).y > first_key();
  }
  /// Whether all of its rows see all of them. Of queries one after another a later one's keys begin
  /// and end later.
  __device__ bool all_see(const RowFacts& facts) const {
    if constexpr (Sizes::kTiles == 1) return facts.partly == 0;
    return last_seen(facts).x <= first_key() && first_seen(facts).y >= first_key() + kTileRows;
  }
  __device__ static int2 first_seen(const RowFacts& facts) { return facts.seen[0]; }
  __device__ int2 last_seen(const RowFacts& facts) const {
    return facts.seen[rows_of_tile_ / p_.attend.group - 1];
  }
  __device__ std::uint32_t k() const { return shared_.k(first_key() / kTileRows); }
  __device__ std::uint32_t v() const { return shared_.v(first_key() / kTileRows); }
  /// Of this warpgroup's threads, and of all that compute. Barrier 0 is the whole block's.
  __device__ void meet() const {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer_) : "memory");
  }
  __device__ void meet_all() const {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + Sizes::kConsumers), "n"(Sizes::kConsumers * 128)
                 : "memory");
  }
  __device__ void release(int stage) const {
    __syncwarp();
    if (lane() == 0) sm90::barrier_arrive(shared_.empty(stage));
  }

  __device__ __forceinline__ void add_rows(int stage) {
    const RowFacts& facts = shared_.facts(stage);
    float weights[32], d_s[32];
    sm90::wgmma_fence();
    begin_rows_product<T, kDk>(weights, k(), shared_.q(stage));
    sm90::wgmma_commit();
    begin_rows_product<T, kDv>(d_s, v(), shared_.d_o(stage));
    sm90::wgmma_commit();
    sm90::wgmma_wait<1>(weights);
    weigh(facts, weights);
    sm90::wgmma_wait<0>(d_s);
    std::uint32_t of_weights[4][4], of_logits[4][4];
    as_fragments<T>(weights, of_weights);
    logit_gradients(facts, weights, d_s);
    as_fragments<T>(d_s, of_logits);
    sm90::pin(d_v_);
    sm90::pin(d_k_);
    sm90::wgmma_fence();
    begin_add_product<T, kDv>(d_v_, of_weights, shared_.d_o(stage), true);
    begin_add_product<T, kDk>(d_k_, of_logits, shared_.q(stage), true);
    sm90::wgmma_commit();
    if constexpr (Sizes::kQueries) {
      add_queries(facts, of_logits, stage);
    } else {
      sm90::wgmma_wait<0>(d_v_);
      sm90::pin(d_k_);
      release(stage);
    }
  }

  /// Logits to weights of this thread's keys; those of rows that do not see a key are 0.
  __device__ __forceinline__ void weigh(const RowFacts& facts, float (&p)[32]) const {
    const float scale_log2 = p_.attend.scale_log2;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float4 stats = *reinterpret_cast<const float4*>(facts.stats + 8 * n + lane() % 4 * 2);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& x = p[4 * n + c];
        x = exp2_fast(fmaf(x, scale_log2, -(c % 2 == 0 ? stats.x : stats.z)));
      }
    }
    if (all_see(facts)) return;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const int row = 8 * n + lane() % 4 * 2;  // those after the queries' rows have no weights
      const int2 of_even = facts.seen[query_of_(row)], of_odd = facts.seen[query_of_(row + 1)];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int key = first_key() + warp() * 16 + lane() / 4 + c / 2 * 8;
        const int2 seen = c % 2 == 0 ? of_even : of_odd;
        if (key < seen.x || key >= seen.y) p[4 * n + c] = 0.0f;
      }
    }
  }
  /// Gradients of weights to gradients of logits.
  __device__ __forceinline__ void logit_gradients(const RowFacts& facts, const float (&p)[32],
                                                  float (&d_s)[32]) const {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float4 stats = *reinterpret_cast<const float4*>(facts.stats + 8 * n + lane() % 4 * 2);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& x = d_s[4 * n + c];
        x = p[4 * n + c] * (x - (c % 2 == 0 ? stats.y : stats.w));
      }
    }
  }

  /// The rows' gradient of q from this tile of keys, 64 columns at a time: each warp has 16 rows.
  /// The products with d_o and q run meanwhile; the rows are released when they are done.
  __device__ __forceinline__ void add_queries(const RowFacts& facts,
                                              const std::uint32_t (&of_logits)[4][4], int stage) {
    constexpr int kHalves = kDk / 64;
    std::uint32_t a[4][4];
    transpose(of_logits, a);
    const int first = warp() * 16 + lane() / 4;
    std::int64_t places[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + 8 * i, query = query_of_(row);
      const std::int64_t place = row < rows_of_tile_ ? facts.place[query] : -1;
      places[i] = place < 0 ? -1 : place + (row - query * p_.attend.group);
    }
    float c[kHalves][32];
    if constexpr (kHalves == 2) {
      multiply_keys(c[0], a, 0);
      sm90::wgmma_wait<1>(d_v_);
      sm90::pin(d_k_);
      release(stage);
      multiply_keys(c[1], a, 1);
      sm90::wgmma_wait<1>(c[0]);
      put(c[0], places, 0);
      sm90::wgmma_wait<0>(c[1]);
      put(c[1], places, 1);
    } else {  // registers do not suffice for both at once
      sm90::wgmma_wait<0>(d_v_);
      sm90::pin(d_k_);
      release(stage);
      multiply_keys(c[0], a, 0);
      sm90::wgmma_wait<0>(c[0]);
      put(c[0], places, 0);
    }
  }
  /// Gradients of logits, [keys, rows], as fragments [rows, keys]. Two buffers in turn: who writes
  /// one has met those who read it two tiles ago.
  __device__ __forceinline__ void transpose(const std::uint32_t (&of_logits)[4][4],
                                            std::uint32_t (&a)[4][4]) {
    unsigned char* const tile = shared_.weights(consumer_, turn_);
    turn_ ^= 1;
    unsigned char* to =
        tile + (16 * warp() + lane() / 4) * static_cast<int>(Sizes::kWeightRow) + lane() % 4 * 4;
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        *reinterpret_cast<std::uint32_t*>(
            to + 32 * kk + i % 2 * 8 * static_cast<int>(Sizes::kWeightRow) + i / 2 * 16) =
            of_logits[kk][i];
    meet();
    const std::uint32_t l = lane_id();
    const std::uint32_t from = sm90::shared_address(tile) +
                               (l % 8 + l / 16 * 8) * Sizes::kWeightRow +
                               (static_cast<std::uint32_t>(warp()) * 16 + l / 8 % 2 * 8) * 2;
#pragma unroll
    for (std::uint32_t kk = 0; kk < 4; ++kk)
      load_matrices_transposed(a[kk], from + kk * 16 * Sizes::kWeightRow);
  }
  __device__ __forceinline__ void multiply_keys(float (&c)[32], const std::uint32_t (&a)[4][4],
                                                int half) const {
    const sm90::MatrixDescriptor columns(k() + static_cast<std::uint32_t>(half) * kTileRows * 128,
                                         0);
    sm90::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) sm90::wgmma_registers<T>(c, a[i], columns.at(i * 2048), i > 0);
    sm90::wgmma_commit();
  }
  __device__ __forceinline__ void put(const float (&c)[32], const std::int64_t (&places)[2],
                                      int half) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (places[i] < 0) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h)
        put_query_piece<T>(out_, places[i] * kDk + 64 * half + 32 * h, c + 16 * h + 2 * i,
                           p_.scale);
    }
  }

  const KeySharedSm90<Sizes>& shared_;
  const BackwardParams& p_;
  const KeyOutputs& out_;
  int consumer_, turn_ = 0, rows_of_tile_;
  QueryOfRow query_of_;
  float d_k_[kDk / 2], d_v_[kDv / 2];
};

template <class Sizes, class Items>
__device__ __forceinline__ void key_gradients_block(const BackwardParams& p, const Items& items,
                                                    const KeyOutputs& out, const RowMaps& maps) {
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const KeySharedSm90<Sizes> shared(dynamic_shared());
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Sizes::kStages; ++stage) {
      sm90::barrier_init(shared.full(stage), 64);  // each thread of a warp: at once, and by copies
      sm90::barrier_init(shared.empty(stage), 4 * Sizes::kReaders);  // a thread of each warp
    }
    sm90::barrier_fence();
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == Sizes::kConsumers) {
    sm90::give_registers<Sizes::kProducerRegisters>();
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    if (warp < Sizes::kProducers) RowProducer<Sizes, Items>(p, out, item, shared, maps).run(warp);
    return;
  }
  sm90::take_registers<Sizes::kRegisters>();
  KeyConsumer<Sizes> consumer(shared, p, out, warpgroup);
  consumer.prepare(item);
  const int queries = queries_together<Sizes>(p.attend.group);
  consumer.run((item.queries + queries - 1) / queries);
  consumer.write(out.sums + item.place * Sizes::kKeys * (Sizes::kDk + Sizes::kDv));
}

template <class Sizes, class Items>
__global__ void __launch_bounds__(Sizes::kThreads, 1)
    key_gradients_sm90_kernel(const __grid_constant__ BackwardParams p,
                              const __grid_constant__ Items items,
                              const __grid_constant__ KeyOutputs out,
                              const __grid_constant__ RowMaps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  key_gradients_block<Sizes>(p, items, out, maps);
#else
  __trap();
#endif
}

template <class Sizes, class Items>
void launch_key_gradients_sm90(const BackwardParams& p, const Items& items, const KeyOutputs& out,
                               CUstream_st* stream) {
  constexpr Dtype kDtype =
      std::is_same_v<typename Sizes::Storage, __half> ? Dtype::fp16 : Dtype::bf16;
  static_assert(KeySharedSm90<Sizes>::kBytes <= 227 * 1024, "what a thread block of Hopper has");
  launch(key_gradients_sm90_kernel<Sizes, Items>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         KeySharedSm90<Sizes>::kBytes, stream, p, items, out,
         make_row_maps(p, kDtype, Sizes::kRows / p.attend.group));
}

}  // namespace nsa::cuda
