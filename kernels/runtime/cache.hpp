// Appending to a KvCache: where the rows of new tokens go, and what the stages then see.
#pragma once

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// Projected and rotated rows of the new tokens, [new tokens, heads, d].
struct Projected {
  TensorView q, k_cmp_raw, v_cmp_raw, k_sel, v_sel, k_win, v_win;
};

/// Keys of a sequence or of its window as a stage reads them.
struct CachedKeys {
  TensorView k, v;
  std::vector<Sequence> sequences;
  std::vector<std::int64_t> context_lens;
};

/// One layer's call into its cache. Friend of KvCache. After an exception the cache is unusable.
class CachedLayer {
 public:
  /// InputError when lengths differ from the problem's or the cache has no room.
  CachedLayer(KvCache& cache, const Problem& problem);
  /// K and V of the selected branch for all tokens (also those of dense attention).
  CachedKeys append_selected(const Projected& fresh);
  /// The last tokens that any new query's window reaches, and the new ones.
  CachedKeys append_window(const Projected& fresh);
  /// Pools the blocks that the new tokens complete; the cache then holds all compressed tokens.
  CachedKeys append_compressed(const Context& context, const Projected& fresh);
  /// Counts the new tokens as seen. Last.
  void commit();

 private:
  /// The first tokens: the stage reads them where they are, the cache keeps the last ones only.
  CachedKeys start_window(const Projected& fresh);
  void make_room_in_window();
  KvCache& cache_;
  const Problem& problem_;
  std::vector<Sequence> sequences_;  // of the new tokens in the packed input
};

}  // namespace nsa
