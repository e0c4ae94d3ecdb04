#include "cpu/backward/panel.hpp"

#include <algorithm>
#include <bit>

#include "cpu/simd/softmax_gradient.hpp"
#include "cpu/simd/tile_gemm_tn.hpp"

namespace nsa::cpu {
namespace {

template <class T>
void make_scores(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                 const PanelColumns& columns, const PanelScratch<T>& scratch) {
  tile_gemm({.rows = rows.rows, .cols = columns.count, .depth = sizes.dim_k}, rows.q,
            {panel.k_columns + columns.first, sizes.width}, scratch.score_rows, Store::overwrite);
}

/// Keys of the columns: those past the last key are padding.
template <class T>
std::int64_t keys_in(const Panel<T>& panel, const PanelColumns& columns) {
  return std::min(columns.count, panel.keys - columns.first);
}

}  // namespace

PanelColumns columns_of(std::uint64_t bits) noexcept {
  if (bits == 0) return {};
  const std::int64_t first = std::countr_zero(bits) / kPad * kPad;
  return {first, pad_up(kKeys - std::countl_zero(bits)) - first};
}

template <class T>
void make_d_logits(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                   const PanelColumns& columns, const std::uint64_t* masks,
                   const PanelScratch<T>& scratch) {
  make_scores(sizes, rows, panel, columns, scratch);
  tile_gemm({.rows = rows.rows, .cols = columns.count, .depth = sizes.dim_v}, rows.d_o,
            {panel.v_columns + columns.first, sizes.width}, scratch.d_p_rows, Store::overwrite);
  softmax_gradient({rows.rows, rows.lse, rows.delta}, scratch.scores, scratch.d_p, kKeys,
                   columns.count, masks, static_cast<int>(columns.first));
}

template <class T>
void add_d_q(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
             const PanelColumns& columns, const PanelScratch<T>& scratch) {
  const std::int64_t dim_k = sizes.dim_k_padded();
  tile_gemm({.rows = rows.rows, .cols = dim_k, .depth = keys_in(panel, columns)}, scratch.d_p_rows,
            {panel.k_rows + columns.first * dim_k, dim_k}, rows.d_q, Store::add);
}

template <class T>
void add_d_kv(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
              const PanelColumns& columns, const PanelScratch<T>& scratch) {
  const std::int64_t keys = keys_in(panel, columns);
  const std::int64_t dim_k = sizes.dim_k_padded(), dim_v = sizes.dim_v_padded();
  tile_gemm_tn({.rows = keys, .cols = dim_v, .depth = rows.rows}, {scratch.scores, kKeys}, rows.d_o,
               {panel.d_v + columns.first * dim_v, dim_v});
  tile_gemm_tn({.rows = keys, .cols = dim_k, .depth = rows.rows}, {scratch.d_p, kKeys}, rows.q,
               {panel.d_k + columns.first * dim_k, dim_k});
}

template <class T>
void add_panel_gradients(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                         const PanelColumns& columns, const std::uint64_t* masks,
                         const PanelScratch<T>& scratch) {
  make_d_logits(sizes, rows, panel, columns, masks, scratch);
  add_d_q(sizes, rows, panel, columns, scratch);
  add_d_kv(sizes, rows, panel, columns, scratch);
}

template <class T>
void add_panel_sums(const PanelSizes& sizes, const TileRows<T>& rows, const Panel<T>& panel,
                    const PanelColumns& columns, const std::uint64_t* masks,
                    const PanelScratch<T>& scratch) {
  make_scores(sizes, rows, panel, columns, scratch);
  const OnlineRows<T> state{.rows = rows.rows,
                            .max = scratch.max,
                            .sum = scratch.sum,
                            .out = scratch.row,
                            .ld_out = 0,
                            .out_cols = 0};
  online_softmax(state, scratch.scores, kKeys, columns.count, masks,
                 static_cast<int>(columns.first));
}

#define NSA_INSTANTIATE(T)                                                                        \
  template void make_d_logits(const PanelSizes&, const TileRows<T>&, const Panel<T>&,             \
                              const PanelColumns&, const std::uint64_t*, const PanelScratch<T>&); \
  template void add_d_q(const PanelSizes&, const TileRows<T>&, const Panel<T>&,                   \
                        const PanelColumns&, const PanelScratch<T>&);                             \
  template void add_d_kv(const PanelSizes&, const TileRows<T>&, const Panel<T>&,                  \
                         const PanelColumns&, const PanelScratch<T>&);                            \
  template void add_panel_gradients(const PanelSizes&, const TileRows<T>&, const Panel<T>&,       \
                                    const PanelColumns&, const std::uint64_t*,                    \
                                    const PanelScratch<T>&);                                      \
  template void add_panel_sums(const PanelSizes&, const TileRows<T>&, const Panel<T>&,            \
                               const PanelColumns&, const std::uint64_t*, const PanelScratch<T>&);
NSA_INSTANTIATE(float)
NSA_INSTANTIATE(double)
#undef NSA_INSTANTIATE

}  // namespace nsa::cpu
