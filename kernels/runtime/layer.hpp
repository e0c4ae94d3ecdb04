// One layer below the public attention_layer().
#pragma once

#include "decode/step.hpp"
#include "stage.hpp"

namespace nsa {

/// attention_layer() for sequences that are placed already: those of sequences_of(problem). With
/// `step`, lengths are read on the device: one token in each sequence, the problem's lengths are
/// bounds, and the cache's on the host stay as they are.
void layer_placed(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                  const TensorView& x, const LayerWeights& weights, const TensorView& y,
                  KvCache* cache, AttentionKind kind, const TensorView& blocks,
                  const decode::StepSequences* step = nullptr);

/// model_forward() likewise.
void model_placed(const Context& context, const ModelConfig& config, const Problem& problem,
                  const PlacedSequences& sequences, const ModelWeights& weights,
                  const TensorView& tokens, const TensorView& logits, std::span<KvCache> caches,
                  const decode::StepSequences* step = nullptr);

}  // namespace nsa
