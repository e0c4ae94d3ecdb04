// The loading warpgroup of the fused kernel: one thread feeds tiles of K and V through two rings,
// three warps bring the queries of the next item.
#pragma once

#include "attend_compressed/cuda/fused_score/item.cuh"
#include "cuda/ptx/copy_async.cuh"
#include "cuda/ptx/sm90_async.cuh"
#include "cuda/ptx/sm90_warpgroups.cuh"

namespace nsa::cuda::compressed {

template <class Tile>
struct FusedBarriers {
  sm90::Barrier k_full[Tile::kStages], k_empty[Tile::kStages];
  sm90::Barrier v_full[Tile::kStages], v_empty[Tile::kStages];
  sm90::Barrier q_full[Tile::kQueryStages], q_empty[Tile::kQueryStages];
};

/// Shared memory of a block; operands start at multiples of 1024 bytes.
template <class Tile>
struct FusedShared {
  unsigned char q[Tile::kQueryStages][Tile::kQBytes];
  unsigned char k[Tile::kStages][Tile::kKBytes];
  unsigned char v[Tile::kStages][Tile::kVBytes];
  FusedBarriers<Tile> barriers;
  Item items[Tile::kQueryStages];  // whose queries are in q
};

inline constexpr int kQueryLoaders = 96;

/// The items of this block: back and forth over the blocks, so that the sums are even.
class ItemOrder {
 public:
  __device__ explicit ItemOrder(const FusedParams& p)
      : items_(static_cast<int>(p.slots) * p.score.kv_heads) {}
  __device__ int index() const {
    const auto grid = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    return round_ * grid + (round_ % 2 == 1 ? grid - 1 - block : block);
  }
  __device__ bool more() const { return index() < items_; }
  __device__ void next() { ++round_; }

 private:
  int items_, round_ = 0;
};

template <class Tile>
__device__ void load_tiles(const FusedParams& p, FusedShared<Tile>& shared) {
  auto& b = shared.barriers;
  sm90::Ring<Tile::kStages> ring;
  for (ItemOrder order(p); order.more(); order.next()) {
    const Item item = item_of<Tile>(p, order.index());
    if (item.queries == 0) continue;
    const std::int64_t first = item.kv_head * p.key_tiles + item.first_key_tile;
    for (int j = 0; j < item.tiles(); ++j, ring.next()) {
      b.k_empty[ring.stage].wait(ring.parity ^ 1);
      b.k_full[ring.stage].expect(Tile::kKBytes);
      sm90::copy_bulk(sm90::shared_address(shared.k[ring.stage]),
                      static_cast<const char*>(p.k_image) + (first + j) * Tile::kKBytes,
                      Tile::kKBytes, b.k_full[ring.stage].address());
      b.v_empty[ring.stage].wait(ring.parity ^ 1);
      b.v_full[ring.stage].expect(Tile::kVBytes);
      sm90::copy_bulk(sm90::shared_address(shared.v[ring.stage]),
                      static_cast<const char*>(p.v_image) + (first + j) * Tile::kVBytes,
                      Tile::kVBytes, b.v_full[ring.stage].address());
    }
  }
}

/// Rows (query, head) of an item, by the threads `loader` 0 .. 95.
template <class Tile>
__device__ void load_queries(const FusedParams& p, const Item& item, unsigned char* to,
                             int loader) {
  using T = typename Tile::Storage;
  constexpr int kPieces = Tile::kDimK / 8;
  for (int i = loader; i < Tile::kRows * kPieces; i += kQueryLoaders) {
    const int row = i / kPieces, piece = i % kPieces, query = row / Tile::kGroup;
    const bool exists = query < item.queries;
    const T* from = static_cast<const T*>(p.score.q) +
                    std::int64_t{item.token + (exists ? query : 0)} * p.score.q_row_stride +
                    (item.kv_head * Tile::kGroup + row % Tile::kGroup) * p.score.q_head_stride +
                    8 * piece;
    unsigned char* at = to + swizzled_offset(row, piece, Tile::kRows * 128);
    if (p.q_vectors) {
      copy_async_16(sm90::shared_address(at), from, exists);
    } else {
      for (int j = 0; j < 8; ++j) reinterpret_cast<T*>(at)[j] = exists ? from[j] : T(0.0f);
    }
  }
}

/// Every item, an empty one too: the others take them from here.
template <class Tile>
__device__ void load_all_queries(const FusedParams& p, FusedShared<Tile>& shared, int loader) {
  auto& b = shared.barriers;
  sm90::Ring<Tile::kQueryStages> ring;
  for (ItemOrder order(p); order.more(); order.next(), ring.next()) {
    const Item item = item_of<Tile>(p, order.index());
    b.q_empty[ring.stage].wait(ring.parity ^ 1);
    if (loader == 0) shared.items[ring.stage] = item;
    if (item.queries > 0) load_queries<Tile>(p, item, shared.q[ring.stage], loader);
    wait_all_copies();
    sm90::fence_shared();
    b.q_full[ring.stage].arrive();
  }
}

}  // namespace nsa::cuda::compressed
