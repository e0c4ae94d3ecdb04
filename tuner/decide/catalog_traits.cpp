// What the one table of variants says of who may be chosen.
#include <algorithm>

#include "nsa/kernels/catalog.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

std::vector<VariantTraits> catalog_traits(Backend backend) {
  std::vector<const Variant*> rows;
  for (const Variant& variant : catalog()) {
    if (variant.backend == backend) rows.push_back(&variant);
  }
  std::ranges::stable_sort(rows, {}, &Variant::rank);
  std::vector<VariantTraits> traits;
  for (const Variant* row : rows) {
    for (const VariantId& id : ids_of(*row)) {
      traits.push_back({id, row->role == Role::candidate, row->role == Role::yardstick,
                        row->switch_target, row->order});
    }
  }
  return traits;
}

}  // namespace nsa::tuner
