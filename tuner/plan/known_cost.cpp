#include "plan/estimate.hpp"

#include <algorithm>

#include "nsa/kernels/directions.hpp"

namespace nsa::tuner {

Cost known_cost(const Problem& problem, const VariantId& id) {
  for (const Variant& variant : catalog()) {
    if (!variant.cost || variant.role == Role::baseline) continue;
    if (!computes(variant, problem.direction)) continue;
    const bool same =
        std::equal(variant.stages.begin(), variant.stages.end(), id.stages.begin(), id.stages.end(),
                   [](Stage stage, const std::string& name) { return to_string(stage) == name; });
    if (same) return variant.cost(problem);
  }
  return {};
}

}  // namespace nsa::tuner
