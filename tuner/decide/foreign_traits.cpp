// What a worker of somebody else declares of its variants.
#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

std::vector<VariantTraits> foreign_traits(const std::map<VariantId, worker::Orders>& orders) {
  std::vector<VariantTraits> traits;
  for (const auto& [id, of_axes] : orders) {
    VariantTraits one;
    one.id = id;
    one.path = switch_target_of(id.name).value_or(SwitchTarget::none);
    const auto seq_len = of_axes.find("seq_len"), context_len = of_axes.find("context_len");
    if (seq_len != of_axes.end() || context_len != of_axes.end()) {
      one.order = WorkOrder{};
      if (seq_len != of_axes.end()) one.order->seq_len = seq_len->second;
      if (context_len != of_axes.end()) one.order->context_len = context_len->second;
    }
    traits.push_back(std::move(one));
  }
  return traits;
}

}  // namespace nsa::tuner
