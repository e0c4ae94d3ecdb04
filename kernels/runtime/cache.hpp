// Appending to a KvCache: where the rows of new tokens go, and what the stages then see.
#pragma once

#include <array>
#include <memory>

#include "decode/step.hpp"
#include "ops.hpp"

namespace nsa {

struct KvCache::State {
  struct Free {
    Allocator* allocator;
    std::size_t bytes;
    void operator()(void* data) const noexcept { allocator->deallocate(data, bytes); }
  };
  struct Rows {
    std::unique_ptr<void, Free> memory{nullptr, Free{}};
    TensorView view;  // [rows, kv_heads, d]
  };
  Rows make_rows(std::int64_t rows, std::int64_t dim) const;
  std::array<const Rows*, 8> rows() const noexcept {
    return {&k_sel, &v_sel, &k_win, &v_win, &k_raw, &v_raw, &k_cmp, &v_cmp};
  }

  Allocator* allocator = nullptr;
  Dtype dtype = Dtype::fp32;
  std::int64_t kv_heads = 0;
  bool zeroed = false;  // done by the first call, in the order of its stream
  std::int64_t capacity = 0;
  std::vector<std::int64_t> lengths;      // [batch] tokens seen
  std::int64_t win_stride = 0;            // rows of a sequence in k_win, v_win
  std::vector<std::int64_t> win_lengths;  // [batch] rows stored
  Rows k_sel, v_sel;                      // [batch * capacity, kv_heads, d]
  Rows k_win, v_win;                      // [batch * win_stride, kv_heads, d]
  Rows k_raw, v_raw;                      // [batch * cmp_block, kv_heads, d] not yet pooled
  Rows k_cmp, v_cmp;                      // [batch * num_compressed(capacity), kv_heads, d]
  std::vector<Rows> outgrown;             // windows that work in flight may still read
};

/// What the other files here see of a KvCache.
struct KvCacheInside {
  using State = KvCache::State;
  static State& of(KvCache& cache) noexcept { return *cache.state_; }
  static const State& of(const KvCache& cache) noexcept { return *cache.state_; }
};
using CacheState = KvCacheInside::State;

/// Keys of a sequence or of its window as a stage reads them.
struct CachedKeys {
  KvTensors kv;
  std::vector<Sequence> sequences;
  std::vector<std::int64_t> context_lens;
};

/// One layer's call into its cache. Copies are collected, so that a decode step
/// needs one launch for all of them; flush() before anything reads what was appended. After an
/// exception the cache is unusable. `fresh`: projected and rotated rows of the new tokens; a branch
/// that is off was not projected and is absent.
class CachedLayer {
 public:
  /// InputError when lengths differ from the problem's or the cache has no room.
  CachedLayer(const Context& context, KvCache& whole, const Problem& problem);
  static decode::CacheTensors tensors_of(const CacheState& cache);
  /// Zeros in all of a new cache.
  static void zero(const Context& context, KvCache& whole);
  /// K and V of the selected branch for all tokens (also those of dense attention).
  CachedKeys append_selected(const AttentionTensors& fresh);
  /// The last tokens that any new query's window reaches, and the new ones.
  CachedKeys append_window(const AttentionTensors& fresh);
  /// Pools the blocks that the new tokens complete; the cache then holds all compressed tokens.
  /// Flushes.
  CachedKeys append_compressed(const AttentionTensors& fresh);
  /// Runs the copies that were collected.
  void flush();
  /// Counts the new tokens as seen. Last.
  void commit();

 private:
  /// Raw rows of one sequence that the next blocks are pooled from.
  struct RawRows {
    KvTensors kv;
    std::int64_t begin;  // of the sequence's first row
  };
  /// The first tokens: the stage reads them where they are, the cache keeps the last ones only.
  CachedKeys start_window(const AttentionTensors& fresh);
  void make_room_in_window();
  void grow_window(std::int64_t rows);
  void keep_last_of_window(std::int64_t sequence, std::int64_t keep);
  RawRows gather_raw(const AttentionTensors& fresh, const Sequence& s, std::int64_t sequence,
                     std::int64_t old_rows);
  void append_compressed_of(const AttentionTensors& fresh, std::int64_t sequence, CachedKeys& keys);
  /// Copies `count` rows of K and of V, later.
  void copy(const KvTensors& from, std::int64_t from_row, const KvTensors& to, std::int64_t to_row,
            std::int64_t count);
  /// Copies `count` rows, later.
  void copy(const TensorView& from, std::int64_t from_row, const TensorView& to,
            std::int64_t to_row, std::int64_t count);

  const Context& context_;
  CacheState& cache_;
  const Problem& problem_;
  std::vector<Sequence> sequences_;  // of the new tokens in the packed input
  std::vector<RowsCopy> copies_;
};

}  // namespace nsa
