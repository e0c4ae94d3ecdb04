#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/tables.hpp"

namespace nsa::reports {

std::string role_in_catalog(const VariantId& id) {
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    const Variant* variant = find_variant(id, backend);
    if (!variant || variant->role == Role::candidate) continue;
    switch (variant->role) {
      case Role::slow_path:
        return "slow path";
      case Role::opt_in:
        return "reduced precision";
      default:
        return "baseline";
    }
  }
  return "";
}

}  // namespace nsa::reports
