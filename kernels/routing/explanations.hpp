// What would run for every stage of a whole model, as its composites run them, and what each NSA_*
// name that is set does to that.
#pragma once

#include <array>
#include <vector>

#include "router_state.hpp"

namespace nsa::routing {

/// One decision a stage. A row over several stages stands at each of them; a row that a composite
/// names (model names layer, layer attention, attention its branches) has it in `within`. `by` as
/// for Router::State::decide.
std::array<Decided, kStageCount> decide_all(const RouterState& state, const Problem& problem,
                                            const AllPolicies* by);

/// One entry per name that is set, found by deciding again without it.
std::vector<NameEffect> name_effects(const RouterState& state, const Problem& problem);

}  // namespace nsa::routing
