// One layer below the public attention_layer().
#pragma once

#include "decode/step.hpp"
#include "stage.hpp"

namespace nsa {

/// What attention_layer() is called with. Borrowed.
struct LayerCall {
  const TensorView& x;  // [tokens, model_dim]
  const LayerWeights& weights;
  const TensorView& y;  // out [tokens, model_dim]
  TensorView blocks{};  // out [tokens, kv_heads, sel_count] int32; may be absent
  KvCache* cache = nullptr;
  AttentionKind kind = AttentionKind::nsa;
  /// Lengths are read on the device: one token in each sequence, the problem's lengths are bounds,
  /// and the cache's on the host stay as they are.
  const decode::StepSequences* step = nullptr;
};
/// A layer within what was chosen for it (context.within), for sequences that are placed already:
/// those of sequences_of(problem).
void layer_placed(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                  const LayerCall& call);
/// attention_layer() by what was chosen for it.
void layer_by(const Context& context, const Choice& chosen, const Problem& problem,
              const LayerCall& call);

/// What model_forward() is called with. Borrowed.
struct ModelCall {
  const ModelWeights& weights;
  const TensorView& tokens;  // [tokens] int32
  const TensorView& logits;  // out [tokens, vocab_size]
  std::span<KvCache> caches{};
  const decode::StepSequences* step = nullptr;  // as in LayerCall
};
/// model_forward() within what was chosen for it (context.within), likewise. With a step, that is
/// what was chosen for attention.
void model_placed(const Context& context, const ModelConfig& config, const Problem& problem,
                  const PlacedSequences& sequences, const ModelCall& call);
/// model_forward() by what was chosen for it.
void model_by(const Context& context, const Choice& chosen, const ModelConfig& config,
              const Problem& problem, const ModelCall& call);

}  // namespace nsa
