// What is known of composites before they run: whether their stages do, cost and workspace.
#pragma once

#include "nsa/kernels/catalog.hpp"

namespace nsa {

/// Whether each stage that the plan leaves open has a row that runs the problem; the first one
/// without says why. Asked before a composite is measured: choices leave it to the stage that
/// fails.
Support stages_run(const Variant& composite, const Problem& problem, const Device& device);

/// Upper bounds over the stages: what lies between them, and the hungriest row of each.
std::int64_t attention_workspace(const Problem& p, Backend backend);
/// Of both passes: what the forward pass keeps, too.
std::int64_t attention_both_passes_workspace(const Problem& p, Backend backend);
std::int64_t layer_workspace(const Problem& p, Backend backend);
std::int64_t layer_both_passes_workspace(const Problem& p, Backend backend);
std::int64_t model_workspace(const Problem& p, Backend backend);
std::int64_t model_both_passes_workspace(const Problem& p, Backend backend);

/// Their parts: what lies between the stages of a composite, without those inside of it.
std::int64_t between_attention(const Problem& p, Backend backend);
std::int64_t between_layer(const Problem& p);
std::int64_t between_model(const Problem& p, Backend backend);

Cost attention_both_passes_cost(const Problem& p);
Cost dense_attention_both_passes_cost(const Problem& p);
Cost layer_both_passes_cost(const Problem& p);
Cost dense_layer_both_passes_cost(const Problem& p);
Cost model_both_passes_cost(const Problem& p);
Cost dense_model_both_passes_cost(const Problem& p);
Cost dense_layer_cost(const Problem& p);
Cost dense_model_cost(const Problem& p);

}  // namespace nsa
