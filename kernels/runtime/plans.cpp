#include "plans.hpp"

#include <array>
#include <string>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

constexpr std::array kPlans{
    Plan{"batched", "batched", ""},
    Plan{"batched_masked", "batched", "masked"},
    Plan{"batched_packed", "batched", "packed"},
    Plan{"batched_varlen_v2", "batched", "varlen_v2"},
    Plan{"batched_dense_prefix", "batched", "dense_prefix"},
    Plan{"sequential", "sequential", ""},
};

Router make_router(const Plan& plan) {
  Router::Inputs inputs;
  inputs.device.id = "cpu";
  inputs.device.backend = Backend::cpu;
  inputs.api.variants.push_back(
      {Stage::attention, {{"attention"}, std::string(plan.prefill_mode), {}}});
  if (!plan.selected.empty()) {
    inputs.api.variants.push_back(
        {Stage::attend_selected, {{"attend_selected"}, std::string(plan.selected), {}}});
  }
  return Router(std::move(inputs));
}

std::vector<Router> make_routers() {
  std::vector<Router> routers;
  for (const Plan& plan : kPlans) routers.push_back(make_router(plan));
  return routers;
}

}  // namespace

std::span<const Plan> plans() { return kPlans; }

const Plan& find_plan(std::string_view name) {
  for (const Plan& plan : kPlans) {
    if (plan.name == name) return plan;
  }
  throw ContractError("expected: the name of a plan");
}

const Router& router_of(const Plan& plan) {
  static const std::vector<Router> routers = make_routers();
  return routers[static_cast<std::size_t>(&plan - kPlans.data())];
}

}  // namespace nsa
