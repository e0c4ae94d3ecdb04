#include "attention.hpp"
#include "catalog/cost.hpp"
#include "layer.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

void mlp(const Context& context, const BlockWeights& block, const TensorView& x,
         const TensorView& y) {
  const WorkspaceScope scratch(*context.workspace);
  const TensorView hidden =
      take_tensor(*context.workspace, x.dtype, {x.shape[0], block.w_up.shape[0]});
  const RuntimeOps& ops = ops_of(context);
  ops.linear(context, x, block.w_up, hidden);
  ops.silu(context, hidden);
  ops.linear(context, hidden, block.w_down, y);
}

}  // namespace

Problem problem_of(const ModelConfig& c, std::vector<std::int64_t> seq_lens,
                   std::vector<std::int64_t> context_lens) {
  Problem p;
  p.seq_lens = std::move(seq_lens);
  p.context_lens = std::move(context_lens);
  bool cached = false, single = true;
  for (const std::int64_t length : p.context_lens) cached = cached || length > 0;
  for (const std::int64_t length : p.seq_lens) single = single && length == 1;
  p.phase = !cached ? Phase::prefill : single ? Phase::decode : Phase::chunked_prefill;
  p.q_heads = c.q_heads;
  p.kv_heads = c.kv_heads;
  p.head_dim_k = c.head_dim_k;
  p.head_dim_v = c.head_dim_v;
  p.geometry = c.geometry;
  p.dtype = c.dtype;
  p.selection.pattern = SelectionPattern::recorded;
  p.model = {c.model_dim, c.layers, c.vocab_size};
  return p;
}

ModelConfig config_of(const Problem& p) {
  ModelConfig c;
  c.name = "problem";
  c.model_dim = p.model.model_dim;
  c.layers = p.model.layers;
  c.vocab_size = p.model.vocab_size;
  c.q_heads = p.q_heads;
  c.kv_heads = p.kv_heads;
  c.head_dim_k = p.head_dim_k;
  c.head_dim_v = p.head_dim_v;
  c.geometry = p.geometry;
  c.dtype = p.dtype;
  return c;
}

double forward_flop(const ModelConfig& config, const Problem& problem) {
  double flop = model_cost(problem).flop;
  if (config.attention == AttentionKind::dense) {
    flop += static_cast<double>(config.layers) *
            (dense_attention_cost(problem).flop - attention_cost(problem).flop);
  }
  return flop;
}

std::vector<KvCache> make_caches(const ModelConfig& config, std::int64_t batch,
                                 std::int64_t capacity, Allocator& allocator) {
  const Problem shape = problem_of(config, {1}, {0});
  std::vector<KvCache> caches;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    caches.emplace_back(shape, batch, capacity, config.attention, allocator);
  }
  return caches;
}

void model_by(const Context& context, const Choice& chosen, const ModelConfig& config,
              const Problem& problem, const ModelCall& call) {
  const WorkspaceScope scratch(*context.workspace);
  const std::vector<Sequence> sequences = sequences_of(problem);
  model_placed(within(context, chosen), config, problem, place_sequences(context, sequences), call);
}

void model_forward(const Context& context, const ModelConfig& config, const Problem& problem,
                   const ModelWeights& weights, const TensorView& tokens, const TensorView& logits,
                   std::span<KvCache> caches) {
  model_by(context, choose(context, Stage::model, problem), config, problem,
           {.weights = weights, .tokens = tokens, .logits = logits, .caches = caches});
}

void model_placed(const Context& context, const ModelConfig& config, const Problem& problem,
                  const PlacedSequences& sequences, const ModelCall& call) {
  const auto& [weights, tokens, logits, caches, step] = call;
  expects(caches.empty() || caches.size() == weights.blocks.size(), "one cache per layer, or none");
  const StageScope scope(context.observer, Stage::model, config.name, problem.max_seq_len(),
                         context.stream);
  Workspace& workspace = *context.workspace;
  const WorkspaceScope scratch(workspace);
  const std::int64_t rows = problem.total_tokens(), dim = config.model_dim;
  const TensorView x = take_tensor(workspace, config.dtype, {rows, dim});
  const TensorView normed = take_tensor(workspace, config.dtype, {rows, dim});
  const TensorView delta = take_tensor(workspace, config.dtype, {rows, dim});
  const RuntimeOps& ops = ops_of(context);
  ops.embed(context, tokens, weights.embedding, x);
  const auto blocks = weights.blocks.size();
  // All layers see the same problem.
  const Choice layer = step ? *context.within : choose(context, Stage::layer, problem);
  const Context of_layer = within(context, layer);
  ops.rms_norm(context, x, blocks > 0 ? weights.blocks[0].norm1 : weights.final_norm, normed);
  for (std::size_t i = 0; i < blocks; ++i) {
    const BlockWeights& block = weights.blocks[i];
    layer_placed(of_layer, problem, sequences,
                 {.x = normed,
                  .weights = block.attention,
                  .y = delta,
                  .cache = caches.empty() ? nullptr : &caches[i],
                  .kind = config.attention,
                  .step = step});
    ops.add_norm(context, x, delta, block.norm2, normed);
    mlp(context, block, normed, delta);
    const bool last = i + 1 == blocks;
    ops.add_norm(context, x, delta, last ? weights.final_norm : weights.blocks[i + 1].norm1,
                 normed);
  }
  ops.linear(context, normed, weights.lm_head, logits);
}

}  // namespace nsa
