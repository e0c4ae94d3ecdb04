#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/tables.hpp"

namespace nsa::reports {

std::string role_in_catalog(const VariantId& id) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    const Variant* variant = find_variant(id, backend);
    if (!variant || variant->role == Role::candidate) continue;
    return variant->role == Role::slow_path ? "slow path" : "yardstick";
  }
  return "";
}

}  // namespace nsa::reports
