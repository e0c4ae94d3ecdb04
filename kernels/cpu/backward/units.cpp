#include "cpu/backward/units.hpp"

#include <algorithm>

#include "cpu/backward/gradients.hpp"
#include "cpu/flash_tile.hpp"
#include "cpu/rows.hpp"
#include "cpu/simd/transpose.hpp"

namespace nsa::cpu {
namespace {

// Enough for the cores of a host, few enough that their sums stay small.
constexpr std::int64_t kParts = 16;
constexpr std::int64_t kMostPartElements = std::int64_t{1} << 26;

/// A log-sum-exp that was saved as fp32 is off by 2e-6 from here on, and so is every probability.
constexpr double kExactLse = 32;

std::int64_t parts_of(const UnitSizes& sizes, std::int64_t units, std::int64_t queries) {
  const std::int64_t tokens = std::max<std::int64_t>(1, sizes.panel.tile_rows / sizes.heads);
  const std::int64_t tiles = (queries + tokens - 1) / tokens;
  const std::int64_t of_a_part =
      sizes.panels * sizes.panel.width * (sizes.panel.dim_k_padded() + sizes.panel.dim_v_padded());
  const std::int64_t wanted = std::min((kParts + units - 1) / units, tiles);
  return std::clamp<std::int64_t>(kMostPartElements / std::max<std::int64_t>(1, of_a_part), 1,
                                  std::max<std::int64_t>(1, wanted));
}

}  // namespace

std::int64_t KeySpace::keys_of(std::int64_t panel, std::int64_t keys) const noexcept {
  const std::int64_t first = first_key(panel);
  const std::int64_t end = std::min((panel / panels_of_block() + 1) * block, keys);
  return std::clamp<std::int64_t>(end - first, 0, kKeys);
}

UnitSizes::UnitSizes(const Problem& p, std::span<const Sequence> sequences, const KeySpace& space)
    : heads(p.heads_per_group()) {
  panel.dim_k = p.head_dim_k, panel.dim_v = p.head_dim_v;
  panel.width = pad_up(std::min(space.block, kKeys));
  panel.tile_rows = heads * tile_tokens(heads);
  std::int64_t longest = 0;
  for (const Sequence& s : sequences) {
    rows += s.q_len * p.q_heads;
    panels += space.panels(space.len(s)) * p.kv_heads;
    longest = std::max(longest, s.q_len);
  }
  parts = parts_of(*this, static_cast<std::int64_t>(sequences.size()) * p.kv_heads, longest);
}

template <class T>
template <class Taker>
GradientMemory<T> GradientMemory<T>::layout(Taker& taker, const UnitSizes& sizes) {
  const PanelSizes& p = sizes.panel;
  const std::int64_t k = p.dim_k_padded(), v = p.dim_v_padded();
  const std::int64_t keys = sizes.panels * p.width, threads = parallel_threads();
  GradientMemory m;
  m.q = taker.template take<T>(sizes.rows * k);
  m.d_q = taker.template take<T>(sizes.rows * k);
  m.d_o = taker.template take<T>(sizes.rows * v);
  m.lse = taker.template take<T>(sizes.rows);
  m.delta = taker.template take<T>(sizes.rows);
  m.k_columns = taker.template take<T>(sizes.panels * p.dim_k * p.width);
  m.v_columns = taker.template take<T>(sizes.panels * p.dim_v * p.width);
  m.k_rows = taker.template take<T>(keys * k);
  m.d_k = taker.template take<T>(sizes.parts * keys * k);
  m.d_v = taker.template take<T>(sizes.parts * keys * v);
  m.numbers = taker.template take<T>(threads * (p.tile_rows * (2 * kKeys + 4) + 2 * (k + v)));
  m.masks = taker.template take<std::uint64_t>(threads * p.tile_rows);
  m.pointers = taker.template take<T*>(threads * p.tile_rows * 5);
  return m;
}

template <class T>
GradientUnits<T>::GradientUnits(const LaunchArgs& args, const BandBackwardTensors& tensors,
                                const KeySpace& space)
    : args_(args),
      tensors_(tensors),
      space_(space),
      sizes_(args.problem, args.sequences, space),
      memory_(GradientMemory<T>::layout(args.workspace, sizes_)) {
  GradientUnit unit;
  for (const Sequence& s : args.sequences) {
    for (std::int64_t head = 0; head < args.problem.kv_heads; ++head) {
      unit.sequence = &s, unit.kv_head = head;
      unit.panels = space_.panels(space_.len(s));
      units_.push_back(unit);
      unit.first_row += s.q_len * sizes_.heads;
      unit.first_panel += unit.panels;
    }
  }
  const auto rows = [&](const GradientUnit& u) { return u.sequence->q_len * sizes_.heads; };
  for_all(rows, 64, [&](const GradientUnit& u, std::int64_t row) {
    load_row(u, row / sizes_.heads, row % sizes_.heads);
  });
  const auto panels = [](const GradientUnit& u) { return u.panels; };
  for_all(panels, 4, [&](const GradientUnit& u, std::int64_t index) { pack_panel(u, index); });
}

template <class T>
PanelScratch<T> GradientUnits<T>::scratch() const {
  const std::int64_t rows = sizes_.panel.tile_rows, thread = parallel_thread_index();
  const std::int64_t dims = sizes_.panel.dim_k_padded() + sizes_.panel.dim_v_padded();
  T* numbers = memory_.numbers.data() + thread * (rows * (2 * kKeys + 4) + 2 * dims);
  T** pointers = memory_.pointers.data() + thread * rows * 5;
  PanelScratch<T> s{};
  s.scores = numbers, s.d_p = s.scores + rows * kKeys;
  s.lse = s.d_p + rows * kKeys, s.delta = s.lse + rows;
  s.max = s.delta + rows, s.sum = s.max + rows, s.row = s.sum + rows;
  s.masks = memory_.masks.data() + thread * rows;
  s.q = const_cast<const T**>(pointers), s.d_o = const_cast<const T**>(pointers + rows);
  s.d_q = pointers + 2 * rows, s.score_rows = pointers + 3 * rows, s.d_p_rows = pointers + 4 * rows;
  return s;
}

template <class T>
void GradientUnits<T>::load_row(const GradientUnit& unit, std::int64_t query,
                                std::int64_t h) const {
  const std::int64_t token = unit.sequence->q_begin + query;
  const std::int64_t head = unit.kv_head * sizes_.heads + h;
  const std::int64_t row = unit.first_row + query * sizes_.heads + h;
  const PanelSizes& p = sizes_.panel;
  const std::int64_t k = p.dim_k_padded(), v = p.dim_v_padded();
  T* q = memory_.q.data() + row * k;
  load_queries(tensors_.q, token, head, 1, p.dim_k, q);
  std::fill(q + p.dim_k, q + k, T{0});
  std::fill_n(memory_.d_q.data() + row * k, k, T{0});

  T *d_o = memory_.d_o.data() + row * v, *o = scratch().row;
  nsa::load_row(tensors_.d_o, tensors_.d_o.at(token, head), p.dim_v, d_o);
  std::fill(d_o + p.dim_v, d_o + v, T{0});
  nsa::load_row(tensors_.o, tensors_.o.at(token, head), p.dim_v, o);
  T delta = 0;
  for (std::int64_t c = 0; c < p.dim_v; ++c) delta += o[c] * d_o[c];
  memory_.delta[static_cast<std::size_t>(row)] = delta;
  if (!tensors_.lse) return;
  const float lse = tensors_.lse.as<const float>()[tensors_.lse.at(token, head)];
  const bool empty = std::isinf(lse) && lse < 0;
  memory_.lse[static_cast<std::size_t>(row)] =
      empty ? std::numeric_limits<T>::infinity() : static_cast<T>(lse) * static_cast<T>(kLog2E);
}

template <class T>
bool GradientUnits<T>::is_rough(const GradientUnit& unit, std::int64_t query) const {
  if (!tensors_.lse || std::is_same_v<T, double>) return true;
  const T* lse = memory_.lse.data() + unit.first_row + query * sizes_.heads;
  return std::any_of(lse, lse + sizes_.heads, [](T x) {
    return std::isfinite(x) && std::abs(static_cast<double>(x)) > kExactLse * kLog2E;
  });
}

template <class T>
void GradientUnits<T>::pack_panel(const GradientUnit& unit, std::int64_t index) const {
  const PanelSizes& p = sizes_.panel;
  const std::int64_t k = p.dim_k_padded(), at = unit.first_panel + index;
  const std::int64_t first = space_.begin(*unit.sequence) + space_.first_key(index);
  const std::int64_t count = space_.keys_of(index, space_.len(*unit.sequence));
  T* rows = memory_.k_rows.data() + at * p.width * k;
  for (std::int64_t i = 0; i < count; ++i) {
    nsa::load_row(tensors_.kv.k, tensors_.kv.k.at(first + i, unit.kv_head), p.dim_k, rows + i * k);
    std::fill(rows + i * k + p.dim_k, rows + (i + 1) * k, T{0});
  }
  const auto transpose = [&](const T* in, std::int64_t ld, std::int64_t dim, T* out) {
    transpose_rows(in, ld, count, dim, out, p.width);
    for (std::int64_t d = 0; d < dim; ++d)
      std::fill(out + d * p.width + pad_up(count), out + (d + 1) * p.width, T{0});
  };
  transpose(rows, k, p.dim_k, memory_.k_columns.data() + at * p.dim_k * p.width);
  // The rows of V are needed in columns alone: in the place of a part's sums until these are 0.
  const std::int64_t v = p.dim_v_padded();
  T* values = memory_.d_v.data() + at * p.width * v;
  for (std::int64_t i = 0; i < count; ++i)
    nsa::load_row(tensors_.kv.v, tensors_.kv.v.at(first + i, unit.kv_head), p.dim_v,
                  values + i * v);
  transpose(values, v, p.dim_v, memory_.v_columns.data() + at * p.dim_v * p.width);
}

template <class T>
void GradientUnits<T>::clear(const GradientUnit& unit, std::int64_t part) const {
  const PanelSizes& p = sizes_.panel;
  const std::int64_t at = (part * sizes_.panels + unit.first_panel) * p.width;
  const std::int64_t keys = unit.panels * p.width;
  std::fill_n(memory_.d_k.data() + at * p.dim_k_padded(), keys * p.dim_k_padded(), T{0});
  std::fill_n(memory_.d_v.data() + at * p.dim_v_padded(), keys * p.dim_v_padded(), T{0});
}

template <class T>
TileRows<T> GradientUnits<T>::no_rows() const {
  const PanelScratch<T> own = scratch();
  for (std::int64_t r = 0; r < sizes_.panel.tile_rows; ++r) {
    own.score_rows[r] = own.scores + r * kKeys;
    own.d_p_rows[r] = own.d_p + r * kKeys;
  }
  return {
      .rows = 0, .q = own.q, .d_o = own.d_o, .d_q = own.d_q, .lse = own.lse, .delta = own.delta};
}

template <class T>
void GradientUnits<T>::add_rows(TileRows<T>& tile, const GradientUnit& unit,
                                std::int64_t query) const {
  const PanelScratch<T> own = scratch();
  const std::int64_t k = sizes_.panel.dim_k_padded(), v = sizes_.panel.dim_v_padded();
  for (std::int64_t h = 0; h < sizes_.heads; ++h, ++tile.rows) {
    const std::int64_t row = unit.first_row + query * sizes_.heads + h;
    own.q[tile.rows] = memory_.q.data() + row * k;
    own.d_q[tile.rows] = memory_.d_q.data() + row * k;
    own.d_o[tile.rows] = memory_.d_o.data() + row * v;
    own.lse[tile.rows] = memory_.lse[static_cast<std::size_t>(row)];
    own.delta[tile.rows] = memory_.delta[static_cast<std::size_t>(row)];
  }
}

template <class T>
TileRows<T> GradientUnits<T>::rows(const GradientUnit& unit, std::int64_t first,
                                   std::int64_t count) const {
  TileRows<T> tile = no_rows();
  for (std::int64_t i = 0; i < count; ++i) add_rows(tile, unit, first + i);
  return tile;
}

template <class T>
TileRows<T> GradientUnits<T>::rows(const GradientUnit& unit,
                                   std::span<const std::int32_t> queries) const {
  TileRows<T> tile = no_rows();
  for (const std::int32_t query : queries) add_rows(tile, unit, query);
  return tile;
}

template <class T>
Panel<T> GradientUnits<T>::panel(const GradientUnit& unit, std::int64_t part,
                                 std::int64_t index) const {
  const PanelSizes& p = sizes_.panel;
  const std::int64_t at = unit.first_panel + index, sums = part * sizes_.panels + at;
  return {.k_columns = memory_.k_columns.data() + at * p.dim_k * p.width,
          .v_columns = memory_.v_columns.data() + at * p.dim_v * p.width,
          .k_rows = memory_.k_rows.data() + at * p.width * p.dim_k_padded(),
          .d_k = memory_.d_k.data() + sums * p.width * p.dim_k_padded(),
          .d_v = memory_.d_v.data() + sums * p.width * p.dim_v_padded(),
          .keys = space_.keys_of(index, space_.len(*unit.sequence))};
}

template <class T>
void GradientUnits<T>::store_query(const GradientUnit& unit, std::int64_t query) const {
  const PanelSizes& p = sizes_.panel;
  const T factor = static_cast<T>(1.0 / std::sqrt(static_cast<double>(p.dim_k)));
  const std::int64_t token = unit.sequence->q_begin + query;
  for (std::int64_t h = 0; h < sizes_.heads; ++h) {
    const std::int64_t row = unit.first_row + query * sizes_.heads + h;
    T* d_q = memory_.d_q.data() + row * p.dim_k_padded();
    scale_row(d_q, p.dim_k_padded(), factor);
    store_gradient(tensors_.d_q, tensors_.d_q.at(token, unit.kv_head * sizes_.heads + h), p.dim_k,
                   d_q, args_.adds_to(BandBackwardTensors::kDQ), scratch().row);
  }
}

template <class T>
void GradientUnits<T>::store_panel(const GradientUnit& unit, std::int64_t index) const {
  const PanelSizes& p = sizes_.panel;
  const std::int64_t count = space_.keys_of(index, space_.len(*unit.sequence));
  const std::int64_t first = space_.begin(*unit.sequence) + space_.first_key(index);
  const auto store = [&](std::span<T> sums, std::int64_t dim, T factor, const TensorView& out,
                         BandBackwardTensors::Output output) {
    const std::int64_t padded = pad_up(dim), of_a_part = sizes_.panels * p.width * padded;
    for (std::int64_t i = 0; i < count; ++i) {
      T* sum = sums.data() + ((unit.first_panel + index) * p.width + i) * padded;
      for (std::int64_t part = 1; part < sizes_.parts; ++part) {
        const T* more = sum + part * of_a_part;
        for (std::int64_t c = 0; c < dim; ++c) sum[c] += more[c];
      }
      for (std::int64_t c = 0; c < dim; ++c) sum[c] *= factor;
      store_gradient(out, out.at(first + i, unit.kv_head), dim, sum, args_.adds_to(output),
                     scratch().row);
    }
  };
  store(memory_.d_k, p.dim_k, static_cast<T>(kLn2), tensors_.d_kv.k, BandBackwardTensors::kDK);
  store(memory_.d_v, p.dim_v, T{1}, tensors_.d_kv.v, BandBackwardTensors::kDV);
}

template <class T>
void GradientUnits<T>::store() const {
  const auto queries = [](const GradientUnit& unit) { return unit.sequence->q_len; };
  for_all(queries, 16, [&](const GradientUnit& u, std::int64_t query) { store_query(u, query); });
  const auto panels = [](const GradientUnit& unit) { return unit.panels; };
  for_all(panels, 2, [&](const GradientUnit& u, std::int64_t index) { store_panel(u, index); });
}

std::int64_t gradient_unit_bytes(const Problem& problem, std::span<const Sequence> sequences,
                                 const KeySpace& space) {
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    GradientMemory<T>::layout(counter, UnitSizes(problem, sequences, space));
    return counter.bytes();
  });
}

template class GradientUnits<float>;
template class GradientUnits<double>;

}  // namespace nsa::cpu
