// What the composites' rows say before they run: support, cost and workspace.
#pragma once

#include "nsa/kernels/catalog.hpp"

namespace nsa {

/// One function per composite and back end, for the rows of variants.cpp. On a GPU each stage has
/// to have a row that runs the problem; the first one without says why. `dense` asks for what dense
/// attention needs.
Support supports_pooling(const Problem& p, const Device& device);
Support supports_attention(const Problem& p, const Device& device, bool dense);
Support supports_layer(const Problem& p, const Device& device, bool dense);
Support supports_model(const Problem& p, const Device& device, bool dense);

/// Upper bounds over the stages: what lies between them, and the hungriest row of each.
std::int64_t attention_workspace(const Problem& p, Backend backend);
std::int64_t layer_workspace(const Problem& p, Backend backend);
std::int64_t model_workspace(const Problem& p, Backend backend);

/// Their parts: what lies between the stages of a composite, without those inside of it.
std::int64_t between_attention(const Problem& p, Backend backend);
std::int64_t between_layer(const Problem& p);
std::int64_t between_model(const Problem& p, Backend backend);

Cost dense_layer_cost(const Problem& p);
Cost dense_model_cost(const Problem& p);

}  // namespace nsa
