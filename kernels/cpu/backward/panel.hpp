// One step of the backward pass of attention: a tile of query rows against a panel of keys.
#pragma once

#include <cstdint>

#include "cpu/compute.hpp"
#include "cpu/simd/tile_gemm.hpp"

namespace nsa::cpu {

/// Keys of a panel at most: the bits of a mask.
inline constexpr std::int64_t kKeys = 64;

struct PanelSizes {
  std::int64_t dim_k = 0, dim_v = 0;
  std::int64_t width = kKeys;  // keys of a panel, padded
  std::int64_t tile_rows = 0;  // of a tile at most
  std::int64_t dim_k_padded() const noexcept { return pad_up(dim_k); }
  std::int64_t dim_v_padded() const noexcept { return pad_up(dim_v); }
};

/// Keys of one head, packed; what is beyond `keys` and beyond the dims is 0.
template <class T>
struct Panel {
  const T* k_columns;  // [dim_k, width]
  const T* v_columns;  // [dim_v, width]
  const T* k_rows;     // [width, dim_k_padded]
  T* d_k;              // [width, dim_k_padded] sums, in units of log2(e) / sqrt(dim_k)
  T* d_v;              // [width, dim_v_padded] sums
  std::int64_t keys;
};

/// Query rows that are worked on together.
template <class T>
struct TileRows {
  std::int64_t rows = 0;
  const T* const* q;    // [rows] pointers to rows [dim_k_padded], times query_scale
  const T* const* d_o;  // [rows] pointers to rows [dim_v_padded]
  T* const* d_q;        // [rows] pointers to rows [dim_k_padded]: sums, in units of sqrt(dim_k)
  const T* lse;         // [rows], see GradientRows
  const T* delta;       // [rows]
};

/// Memory of one thread.
template <class T>
struct PanelScratch {
  T *scores, *d_p;                    // [tile_rows, kKeys]
  T *lse, *delta;                     // [tile_rows]
  T *max, *sum;                       // [tile_rows]
  T* row;                             // [max(dim_k_padded, dim_v_padded)] twice
  std::uint64_t* masks;               // [tile_rows]
  const T **q, **d_o;                 // [tile_rows]
  T **d_q, **score_rows, **d_p_rows;  // [tile_rows]; the last two point into scores and d_p
};

/// Columns [first, first + count) of a panel, both multiples of kPad.
struct PanelColumns {
  std::int64_t first = 0, count = 0;
};
/// Those that `bits` asks for, in whole vectors.
PanelColumns columns_of(std::uint64_t bits) noexcept;

/// Adds what the rows and the panel say of each other to d_q, d_k and d_v. masks: [rows] bit c =
/// key c is seen, or null: all keys are seen by all rows. Two products make probabilities and their
/// gradients again, three the gradients.
template <class T>
void add_panel_gradients(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                         const PanelColumns& columns, const std::uint64_t* masks,
                         const PanelScratch<T>& scratch);

/// As add_panel_gradients, of some of the gradients.
template <class T>
void make_d_logits(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                   const PanelColumns& columns, const std::uint64_t* masks,
                   const PanelScratch<T>& scratch);
template <class T>
void add_d_q(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
             const PanelColumns& columns, const PanelScratch<T>& scratch);
template <class T>
void add_d_kv(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
              const PanelColumns& columns, const PanelScratch<T>& scratch);

/// One step of the log-sum-exp of these rows, in scratch.max and scratch.sum.
template <class T>
void add_panel_sums(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                    const PanelColumns& columns, const std::uint64_t* masks,
                    const PanelScratch<T>& scratch);

}  // namespace nsa::cpu
