// Stages of NSA in a trace that names none: by the order of operators, and autograd's numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "analyse/host_tree.hpp"
#include "layer_pattern.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// What a range says of itself by its name: a stage of NSA (or several that the source does not
/// tell apart), the backward pass or a node of it, another class of work.
enum class RangeSays : std::uint8_t { nothing, stage, backward, other };

/// `says`: [names]. Returns [ranges]: the stage of operators by their order, and of nodes of the
/// backward pass that belong to such an operator; none of what is in a named stage, and of what is
/// in another operator. Empty where there is no layer of NSA.
std::vector<LayerStage> inferred_stages(const Trace& trace, const HostTree& tree,
                                        const std::vector<RangeSays>& says);

}  // namespace nsa::trace
