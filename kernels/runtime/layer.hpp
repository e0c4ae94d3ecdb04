// One layer below the public attention_layer().
#pragma once

#include "stage.hpp"

namespace nsa {

/// attention_layer() for sequences that are placed already: those of sequences_of(problem).
void layer_placed(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                  const TensorView& x, const LayerWeights& weights, const TensorView& y,
                  KvCache* cache, AttentionKind kind, const TensorView& blocks);

}  // namespace nsa
