// What a forward pass will hold, before it runs.
#pragma once

#include <cstdint>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// Bytes of a forward pass over a whole model, by what they are for.
struct ForwardBytes {
  std::int64_t weights = 0;
  std::int64_t workspace = 0;  // at its peak, with the rows that the router chooses
  std::int64_t inputs = 0;     // tokens, and the logits that come out
  /// The sum: what the pass holds at its peak.
  std::int64_t peak() const noexcept { return weights + workspace + inputs; }
};
/// Of model_forward() without caches. InputError where no row runs a stage.
ForwardBytes predict_forward(const Router& router, const ModelConfig& config,
                             const Problem& problem, const AttentionOptions& options = {});

}  // namespace nsa
