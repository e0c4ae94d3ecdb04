#include "cpu/panels.hpp"

#include <algorithm>

#include "cpu/convert.hpp"
#include "cpu/simd/transpose.hpp"

namespace nsa::cpu {

template <class T>
void pack_panel(const KvHead& kv, const PanelShape& shape, std::int64_t first, std::int64_t count,
                T* k, T* v, T* scratch, std::uint64_t* bad) {
  for (std::int64_t i = 0; i < count; ++i) {
    load_row(kv.k, kv.k.at(kv.begin + first + i, kv.head), shape.dim_k, scratch + i * shape.dim_k);
  }
  const std::int64_t filled = pad_up(count);
  transpose_rows(scratch, shape.dim_k, count, shape.dim_k, k, shape.width());
  for (std::int64_t d = 0; d < shape.dim_k; ++d) {
    std::fill(k + d * shape.width() + filled, k + (d + 1) * shape.width(), T{0});
  }
  if (bad != nullptr) *bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    T* row = v + i * shape.out_cols();
    load_row(kv.v, kv.v.at(kv.begin + first + i, kv.head), shape.dim_v, row);
    std::fill(row + shape.dim_v, row + shape.out_cols(), T{0});
    if (bad != nullptr && !all_finite(row, shape.dim_v)) {
      *bad |= std::uint64_t{1} << i;
      std::fill(row, row + shape.dim_v, T{0});
    }
  }
  std::fill(v + count * shape.out_cols(), v + shape.v_elements(), T{0});
}

template <class T>
std::vector<PackedHead<T>> pack_heads(std::span<const PackRequest> requests,
                                      const PanelShape& shape, const PackedMemory<T>& memory,
                                      bool find_bad) {
  std::vector<PackedHead<T>> heads;
  std::vector<std::int64_t> begins;  // first panel of each head in the memory
  std::int64_t total = 0;
  for (const PackRequest& r : requests) {
    const std::int64_t panels = panels_of(r.first_key, r.end_key, shape.keys);
    heads.push_back({r.source, shape, r.first_key / shape.keys, panels,
                     memory.k.data() + total * shape.k_elements(),
                     memory.v.data() + total * shape.v_elements(),
                     find_bad ? memory.bad.data() + total : nullptr});
    begins.push_back(total);
    total += panels;
  }
  parallel_for(0, total, 4, [&](std::int64_t from, std::int64_t to) {
    T* scratch = memory.scratch.data() + parallel_thread_index() * shape.keys * shape.dim_k;
    auto at = std::upper_bound(begins.begin(), begins.end(), from) - begins.begin() - 1;
    for (std::int64_t i = from; i < to; ++i) {
      while (i >= begins[static_cast<std::size_t>(at)] + heads[static_cast<std::size_t>(at)].panels)
        ++at;
      const PackedHead<T>& head = heads[static_cast<std::size_t>(at)];
      const std::int64_t local = i - begins[static_cast<std::size_t>(at)];
      const std::int64_t first = (head.first_panel + local) * shape.keys;
      const std::int64_t count = std::clamp<std::int64_t>(head.source.len - first, 0, shape.keys);
      pack_panel(head.source, shape, first, count, head.k + local * shape.k_elements(),
                 head.v + local * shape.v_elements(), scratch,
                 head.bad == nullptr ? nullptr : head.bad + local);
    }
  });
  return heads;
}

template void pack_panel(const KvHead&, const PanelShape&, std::int64_t, std::int64_t, float*,
                         float*, float*, std::uint64_t*);
template void pack_panel(const KvHead&, const PanelShape&, std::int64_t, std::int64_t, double*,
                         double*, double*, std::uint64_t*);
template std::vector<PackedHead<float>> pack_heads(std::span<const PackRequest>, const PanelShape&,
                                                   const PackedMemory<float>&, bool);
template std::vector<PackedHead<double>> pack_heads(std::span<const PackRequest>, const PanelShape&,
                                                    const PackedMemory<double>&, bool);

}  // namespace nsa::cpu
