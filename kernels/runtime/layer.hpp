// One layer below the public attention_layer().
#pragma once

#include "decode/step.hpp"
#include "stage.hpp"

namespace nsa {

/// A layer within what was chosen for it (context.within), for sequences that are placed already:
/// those of sequences_of(problem). With `step`, lengths are read on the device: one token in each
/// sequence, the problem's lengths are bounds, and the cache's on the host stay as they are.
void layer_placed(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                  const TensorView& x, const LayerWeights& weights, const TensorView& y,
                  KvCache* cache, AttentionKind kind, const TensorView& blocks,
                  const decode::StepSequences* step = nullptr);
/// attention_layer() by what was chosen for it.
void layer_by(const Context& context, const Choice& chosen, const Problem& problem,
              const TensorView& x, const LayerWeights& weights, const TensorView& y, KvCache* cache,
              AttentionKind kind, const TensorView& blocks);

/// model_forward() within what was chosen for it (context.within), likewise. With `step`, that is
/// what was chosen for attention.
void model_placed(const Context& context, const ModelConfig& config, const Problem& problem,
                  const PlacedSequences& sequences, const ModelWeights& weights,
                  const TensorView& tokens, const TensorView& logits, std::span<KvCache> caches,
                  const decode::StepSequences* step = nullptr);
/// model_forward() by what was chosen for it.
void model_by(const Context& context, const Choice& chosen, const ModelConfig& config,
              const Problem& problem, const ModelWeights& weights, const TensorView& tokens,
              const TensorView& logits, std::span<KvCache> caches);

}  // namespace nsa
