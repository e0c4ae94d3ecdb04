// What the one table of variants says of who may be chosen.
#include "nsa/kernels/catalog.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

std::vector<VariantTraits> catalog_traits(Backend backend) {
  std::vector<VariantTraits> traits;
  for (const Variant& variant : catalog()) {
    if (variant.backend != backend) continue;
    for (const VariantId& id : ids_of(variant)) {
      traits.push_back({id, variant.role == Role::candidate, variant.role == Role::yardstick,
                        variant.switch_target});
    }
  }
  return traits;
}

}  // namespace nsa::tuner
