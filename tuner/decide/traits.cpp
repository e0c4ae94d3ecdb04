// Who may be chosen: by the one table of variants, or by what a foreign worker declares.
#include <algorithm>
#include <utility>

#include "nsa/kernels/directions.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

std::vector<VariantTraits> catalog_traits(Backend backend) {
  std::vector<std::pair<Direction, const Variant*>> rows;
  for (const Variant& variant : catalog()) {
    if (variant.backend != backend) continue;
    for (const Direction direction : directions_of(variant)) rows.emplace_back(direction, &variant);
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) {
    return std::pair{row.first, row.second->rank};
  });
  std::vector<VariantTraits> traits;
  for (const auto& [direction, row] : rows) {
    for (const VariantId& id : ids_of(*row)) {
      traits.push_back({id, row->role == Role::candidate, row->role == Role::baseline,
                        row->switch_target, row->order, direction});
    }
  }
  return traits;
}

std::vector<VariantTraits> traits_of(const std::string& executor, Backend backend,
                                     const std::map<VariantId, worker::Orders>& declared) {
  if (executor == kOwnExecutor) return catalog_traits(backend);
  std::vector<VariantTraits> traits;
  for (const auto& [id, orders] : declared) {
    VariantTraits one;
    one.id = id;
    one.path = switch_target_of(id.name).value_or(SwitchTarget::none);
    const auto seq_len = orders.find("seq_len"), context_len = orders.find("context_len");
    if (seq_len != orders.end() || context_len != orders.end()) {
      one.order = WorkOrder{};
      if (seq_len != orders.end()) one.order->seq_len = seq_len->second;
      if (context_len != orders.end()) one.order->context_len = context_len->second;
    }
    traits.push_back(std::move(one));
  }
  return traits;
}

}  // namespace nsa::tuner
