// What each NSA_* name that is set does to one problem.
#pragma once

#include <vector>

#include "router_state.hpp"

namespace nsa::routing {

/// One entry per name that is set, found by deciding again without it.
std::vector<NameEffect> name_effects(const Router::State& state, const Problem& problem);

}  // namespace nsa::routing
