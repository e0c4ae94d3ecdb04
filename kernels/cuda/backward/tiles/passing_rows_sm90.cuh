// The rows that pass by a tile of keys on Hopper: warps that do nothing else let TMA bring q and
// d_o of some queries at a time to a ring of buffers, with what else of each row the warpgroups
// that compute need.
#pragma once

#include "cuda/backward/tiles/partial_places.cuh"
#include "cuda/backward/tiles/products_sm90.cuh"
#include "cuda/backward/tiles/row_maps.hpp"
#include "cuda/flash/query_of_row.cuh"
#include "cuda/ptx/sm90_warp_copies.cuh"
#include "cuda/ptx/sm90_warpgroups.cuh"

namespace nsa::cuda {

/// What is known of the rows of a tile beside q and d_o, and of their queries.
struct RowFacts {
  float2 stats[kTileRows];        // log-sum-exp and sum of d_o o
  std::int64_t place[kTileRows];  // of a query's first row of partial results; -1: nowhere
  int2 seen[kTileRows];           // keys of the tile of keys that a query sees
  int partly;                     // whether some query does not see the whole tile of keys
  int unused[3];                  // for a multiple of 16 bytes
};

/// Shared memory of a block: K and V, then the stages of rows, as addresses and as pointers.
template <class Sizes>
class KeySharedSm90 {
 public:
  static constexpr std::uint32_t kTile = kSwizzledTile<Sizes::kDk>;
  static constexpr std::size_t kWeightBytes =
      Sizes::kQueries ? std::size_t{Sizes::kConsumers} * 2 * Sizes::kKeys * Sizes::kWeightRow : 0;
  static constexpr std::uint32_t kKeyTiles = 2 * Sizes::kTiles;  // of K, then of V
  static constexpr std::size_t kBytes = 1024 +
                                        (kKeyTiles + 2 * std::size_t{Sizes::kStages}) * kTile +
                                        kWeightBytes + Sizes::kStages * (sizeof(RowFacts) + 16);

  __device__ explicit KeySharedSm90(unsigned char* memory) {
    memory_ = memory + (0u - sm90::shared_address(memory)) % 1024;
    tiles_ = sm90::shared_address(memory_);
  }
  __device__ std::uint32_t k(int tile) const {
    return tiles_ + static_cast<std::uint32_t>(tile) * kTile;
  }
  __device__ std::uint32_t v(int tile) const { return k(Sizes::kTiles + tile); }
  __device__ std::uint32_t q(int stage) const {
    return tiles_ + (kKeyTiles + 2 * static_cast<std::uint32_t>(stage)) * kTile;
  }
  __device__ std::uint32_t d_o(int stage) const { return q(stage) + kTile; }
  /// Gradients of logits, [keys, rows], of one of the warpgroups; two in turn.
  __device__ unsigned char* weights(int consumer, int turn) const {
    return rows_end() + (2 * consumer + turn) * Sizes::kKeys * static_cast<int>(Sizes::kWeightRow);
  }
  __device__ RowFacts& facts(int stage) const {
    return reinterpret_cast<RowFacts*>(rows_end() + kWeightBytes)[stage];
  }
  /// Ends when the rows of a stage have come, or were read.
  __device__ std::uint32_t full(int stage) const { return barriers() + 8 * stage; }
  __device__ std::uint32_t empty(int stage) const {
    return barriers() + 8 * (Sizes::kStages + stage);
  }
  /// The stages of rows once more, when all rows have been: sums of the warpgroups but the first.
  __device__ float* sums(int consumer) const {
    return reinterpret_cast<float*>(memory_ + kKeyTiles * kTile) + (consumer - 1) * kSums;
  }

 private:
  static constexpr int kSums = Sizes::kKeys * (Sizes::kDk + Sizes::kDv);
  static_assert(Sizes::kTiles > 1 || (Sizes::kConsumers - 1) * kSums * 4 <=
                                         2 * Sizes::kStages * static_cast<int>(kTile));

  __device__ unsigned char* rows_end() const {
    return memory_ + (kKeyTiles + 2 * std::size_t{Sizes::kStages}) * kTile;
  }
  __device__ std::uint32_t barriers() const {
    return sm90::shared_address(rows_end() + kWeightBytes + Sizes::kStages * sizeof(RowFacts));
  }

  unsigned char* memory_;
  std::uint32_t tiles_;
};

/// Queries of a tile of rows; the rows after theirs hold zeros.
template <class Sizes>
__device__ __forceinline__ int queries_together(int group) {
  return Sizes::kRows / group;
}

/// A warp of the producers: brings its share of the item's tiles of rows, every kProducers-th.
template <class Sizes, class Items>
class RowProducer {
  static constexpr bool kOneAfterAnother = std::is_same_v<Items, BandItems>;
  static constexpr int kOwn = kTileRows / 32;  // rows, and queries, of a lane

 public:
  __device__ RowProducer(const BackwardParams& p, const KeyOutputs& out, const KeyItem& item,
                         const KeySharedSm90<Sizes>& shared, const RowMaps& maps)
      : p_(p),
        shared_(shared),
        maps_(maps),
        entries_(item.entries ? item.entries + item.first : nullptr),
        group_(p.attend.group),
        heads_(p.attend.kv_heads * group_),
        queries_(queries_together<Sizes>(group_)),
        all_queries_(item.queries),
        first_head_(item.kv_head * group_),
        first_token_(static_cast<int>(item.entries ? out.first_token
                                                   : item.keys.sequence.q_begin + item.first)),
        to_position_(static_cast<int>(item.keys.sequence.kv_len - item.keys.sequence.q_len -
                                      item.keys.sequence.q_begin)),
        first_key_(item.keys.first),
        keys_(item.keys.count),
        places_(p, out, item, Sizes::kKeys) {
    const QueryOfRow query_of(group_);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int r = lane() + 32 * j;
      const int query = query_of(r);
      query_of_[j] = query < queries_ ? query : -1;
      head_of_[j] = first_head_ + r - query * group_;
    }
  }

  __device__ void run(int warp) {
    // A stage has one producer and one consumer, so that neither is ever two rounds ahead of it.
    sm90::Ring<Sizes::kStages, Sizes::kProducers> ring{warp};
    for (int first = warp * queries_; first < all_queries_;
         first += Sizes::kProducers * queries_, ring.next()) {
      const int stage = ring.stage;
      Token tokens[kOwn];
#pragma unroll
      for (int j = 0; j < kOwn; ++j) tokens[j] = token(first, lane() + 32 * j);
      sm90::barrier_wait(shared_.empty(stage), ring.parity ^ 1);
      const std::uint32_t full = shared_.full(stage);
      copy_rows(tokens, first, stage);
      put_facts(tokens, first, stage);
      if (lane() == 0) {
        sm90::barrier_expect(full, queries_ * group_ * (Sizes::kDk + Sizes::kDv) * 2);
      } else {
        sm90::barrier_arrive(full);
      }
      sm90::barrier_arrive_behind_copies(full);
    }
  }

 private:
  struct Token {
    int index = -1;  // of all tokens; -1: none
    int pick = 0;
  };
  __device__ static int lane() { return static_cast<int>(lane_id()); }

  /// Query `i` of the tile whose first one is `first`.
  __device__ Token token(int first, int i) const {
    if (i >= queries_ || first + i >= all_queries_) return {};
    if constexpr (kOneAfterAnother) return {first_token_ + first + i, 0};
    const int entry = entries_[first + i];
    return {first_token_ + (entry & ((1 << kEntryShift) - 1)), entry >> kEntryShift};
  }
  /// A query that does not exist has zeros: its box lies outside of the tensors.
  __device__ void copy_rows(const Token (&tokens)[kOwn], int first, int stage) const {
    if (kOneAfterAnother && first + queries_ <= all_queries_) {
      copy_boxes(lane() == 0, maps_.q_tile, maps_.d_o_tile, first_token_ + first, stage, 0);
    } else if constexpr (Sizes::kDk == 64) {  // many small boxes: each lane has its own
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const int i = lane() + 32 * j;
        copy_boxes(i < queries_, maps_.q, maps_.d_o, row_of(tokens[j].index), stage, i * group_);
      }
    } else {
#pragma unroll 2
      for (int i = 0; i < queries_; ++i) {
        const int own = i < 32 ? tokens[0].index : tokens[1].index;
        const int index = __shfl_sync(0xffffffffu, own, i % 32);
        copy_boxes(lane() == 0, maps_.q, maps_.d_o, row_of(index), stage, i * group_);
      }
    }
  }
  __device__ int row_of(int token) const {
    return token < 0 ? static_cast<int>(p_.attend.tokens) : token;
  }
  /// By the threads for which `issue` holds.
  __device__ void copy_boxes(bool issue, const CUtensorMap& q, const CUtensorMap& d_o, int token,
                             int stage, int row) const {
    const std::uint32_t full = shared_.full(stage);
#pragma unroll
    for (int c = 0; c < Sizes::kDk / 64; ++c) {
      const auto at = static_cast<std::uint32_t>((c * kTileRows + row) * 128);
      sm90::copy_box_if(issue, shared_.q(stage) + at, q, 64 * c, first_head_, token, full);
      sm90::copy_box_if(issue, shared_.d_o(stage) + at, d_o, 64 * c, first_head_, token, full);
    }
  }
  __device__ void put_facts(const Token (&tokens)[kOwn], int first, int stage) const {
    RowFacts& facts = shared_.facts(stage);
    const auto* stats = reinterpret_cast<const float2*>(p_.stats);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int of_first = __shfl_sync(0xffffffffu, tokens[0].index, query_of_[j] % 32);
      const int of_second =
          queries_ > 32 ? __shfl_sync(0xffffffffu, tokens[1].index, query_of_[j] % 32) : -1;
      const int index = query_of_[j] < 0 ? -1 : query_of_[j] < 32 ? of_first : of_second;
      float2* const to = facts.stats + lane() + 32 * j;
      if (index < 0) {
        *to = make_float2(INFINITY, 0.0f);  // no weights
      } else {
        sm90::copy_async_8(sm90::shared_address(to),
                           stats + (std::int64_t{index} * heads_ + head_of_[j]));
      }
    }
    bool partly = false;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int i = lane() + 32 * j;
      if (i >= queries_) break;
      const Token& at = tokens[j];
      int2 seen = make_int2(0, 1 << 30);
      std::int64_t place = -1;
      // Where it is asked what the last query of a tile sees, one that does not exist sees that
      // too.
      const int index = Sizes::kTiles == 1
                            ? at.index
                            : min(first_token_ + first + i, first_token_ + all_queries_ - 1);
      if (index >= 0) {
        const KeyRun run = band_keys(p_.band, index + to_position_);
        seen = make_int2(run.begin - first_key_, min(run.end - first_key_, keys_));
        if constexpr (Sizes::kQueries) place = places_(at.index, at.pick);
      }
      facts.seen[i] = seen;
      if constexpr (Sizes::kQueries) facts.place[i] = place;
      partly = partly || seen.x > 0 || seen.y < Sizes::kKeys;
    }
    partly = __any_sync(0xffffffffu, partly) != 0;
    if (lane() == 0) facts.partly = partly ? 1 : 0;
  }

  const BackwardParams& p_;
  const KeySharedSm90<Sizes>& shared_;
  const RowMaps& maps_;
  const std::int32_t* entries_;
  int group_, heads_, queries_, all_queries_, first_head_, first_token_, to_position_, first_key_,
      keys_;
  PartialPlaces places_;
  int query_of_[kOwn], head_of_[kOwn];  // of the lane's rows; -1: none
};

}  // namespace nsa::cuda
