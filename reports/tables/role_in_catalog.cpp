#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/tables.hpp"

namespace nsa::reports {

namespace {

/// Probes name a CPU "CPU-...", drivers a GPU "GPU-..." or "MIG-...". Both where nobody knows.
std::vector<Backend> backends_of(const Measurement& row) {
  if (row.placement.empty()) return {Backend::cpu, Backend::cuda};
  const std::string& uuid = row.placement.front().device_uuid;
  if (uuid.starts_with("CPU-")) return {Backend::cpu};
  if (uuid.starts_with("GPU-") || uuid.starts_with("MIG-")) return {Backend::cuda};
  return {Backend::cpu, Backend::cuda};
}

}  // namespace

std::string role_in_catalog(const Measurement& row) {
  for (const Backend backend : backends_of(row)) {
    const Variant* variant = find_variant(row.variant, backend, row.problem.direction);
    if (!variant || variant->role == Role::candidate) continue;
    switch (variant->role) {
      case Role::slow_path:
        return "slow path";
      case Role::reduced_precision:
        return "reduced precision";
      default:
        return "baseline";
    }
  }
  return "";
}

}  // namespace nsa::reports
