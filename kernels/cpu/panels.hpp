// K and V of a head, packed once in panels of keys: K as [dim_k, keys], V as [keys, dim_v], both
// padded to whole vectors, in the type that is computed in. So QK^T and PV are the same product.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/compute.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/kernels/tensor.hpp"

namespace nsa::cpu {

/// Keys of a panel where nothing else asks for another number.
inline constexpr std::int64_t kPanelKeys = 64;

struct PanelShape {
  std::int64_t keys = kPanelKeys;
  std::int64_t dim_k = 0, dim_v = 0;
  std::int64_t width() const noexcept { return pad_up(keys); }      // row length of a K panel
  std::int64_t out_cols() const noexcept { return pad_up(dim_v); }  // row length of a V panel
  std::int64_t k_elements() const noexcept { return dim_k * width(); }
  std::int64_t v_elements() const noexcept { return keys * out_cols(); }
};

/// One head of one sequence in the caller's tensors: key p is row begin + p.
struct KvHead {
  TensorView k, v;  // [rows, heads, dim]
  std::int64_t head = 0;
  std::int64_t begin = 0, len = 0;
};

/// Packs keys [first, first + count) of `kv`, count <= shape.keys, into k [dim_k, width] and
/// v [keys, out_cols]; the rest is 0. scratch: [keys * dim_k]. A V row that is not finite is packed
/// as zeros where `bad` is given, and its bit is set there (see flash_tile), shape.keys <= 64 then.
template <class T>
void pack_panel(const KvHead& kv, const PanelShape& shape, std::int64_t first, std::int64_t count,
                T* k, T* v, T* scratch, std::uint64_t* bad = nullptr);

/// The panels of one head that cover keys [first_panel * keys, ...).
template <class T>
struct PackedHead {
  KvHead source;
  PanelShape shape;
  std::int64_t first_panel = 0, panels = 0;
  T* k = nullptr;
  T* v = nullptr;
  std::uint64_t* bad = nullptr;  // [panels] bit = V row packed as zeros, or null: not looked for

  const T* k_panel(std::int64_t panel) const {
    return k + (panel - first_panel) * shape.k_elements();
  }
  const T* v_panel(std::int64_t panel) const {
    return v + (panel - first_panel) * shape.v_elements();
  }
};

/// Memory of packed heads: sizes by `layout`, so that they can be counted before.
template <class T>
struct PackedMemory {
  std::span<T> k, v, scratch;
  std::span<std::uint64_t> bad;
  /// For `panels` panels in all.
  template <class Taker>
  static PackedMemory layout(Taker& taker, const PanelShape& shape, std::int64_t panels) {
    PackedMemory memory;
    memory.k = taker.template take<T>(panels * shape.k_elements());
    memory.v = taker.template take<T>(panels * shape.v_elements());
    memory.bad = taker.template take<std::uint64_t>(panels);
    memory.scratch = taker.template take<T>(parallel_threads() * shape.keys * shape.dim_k);
    return memory;
  }
};

/// What to pack of one head: all keys from `first_key` (rounded down to a panel) to `end_key`.
/// Keys from source.len up to end_key are padding.
struct PackRequest {
  KvHead source;
  std::int64_t first_key = 0, end_key = 0;
};

constexpr std::int64_t panels_of(std::int64_t first_key, std::int64_t end_key,
                                 std::int64_t keys) noexcept {
  return end_key <= first_key ? 0 : (end_key + keys - 1) / keys - first_key / keys;
}

/// Packs all heads with all threads. `find_bad` looks for V rows that are not finite.
template <class T>
std::vector<PackedHead<T>> pack_heads(std::span<const PackRequest> requests,
                                      const PanelShape& shape, const PackedMemory<T>& memory,
                                      bool find_bad);

}  // namespace nsa::cpu
