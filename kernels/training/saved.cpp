#include "training/saved.hpp"

namespace nsa::training {

std::int64_t compressed_rows(const Problem& problem) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return sequences.back().cmp_begin + sequences.back().cmp_len;
}

namespace {

/// Takes tensors of a layer.
class Taking {
 public:
  Taking(Workspace& workspace, const ModelConfig& c, std::int64_t tokens)
      : workspace_(workspace), c_(c), tokens_(tokens) {}

  TensorView take(Dtype dtype, std::initializer_list<std::int64_t> shape) const {
    return take_tensor(workspace_, dtype, shape);
  }
  KvTensors keys(std::int64_t rows) const {
    return {.k = take(c_.dtype, {rows, c_.kv_heads, c_.head_dim_k}),
            .v = take(c_.dtype, {rows, c_.kv_heads, c_.head_dim_v})};
  }
  TensorView heads() const { return take(c_.dtype, {tokens_, c_.q_heads, c_.head_dim_v}); }
  TensorView lse() const { return take(Dtype::fp32, {tokens_, c_.q_heads}); }

 private:
  Workspace& workspace_;
  const ModelConfig& c_;
  std::int64_t tokens_;
};

}  // namespace

void take_between(Workspace& workspace, const ModelConfig& c, const Problem& p, LayerSaved& saved) {
  const std::int64_t tokens = p.total_tokens();
  const Taking of(workspace, c, tokens);
  saved.stages.lse_win = of.lse();
  if (c.attention != AttentionKind::nsa) return;
  saved.cmp = of.keys(compressed_rows(p));
  for (TensorView& branch : saved.branches) branch = of.heads();
  saved.stages.lse_cmp = of.lse();
  saved.stages.lse_sel = of.lse();
  saved.stages.gates = of.take(Dtype::fp32, {tokens, c.kv_heads, 3});
}

void take_attention(Workspace& workspace, const ModelConfig& c, const Problem& p,
                    LayerSaved& saved) {
  const std::int64_t tokens = p.total_tokens();
  const Taking of(workspace, c, tokens);
  saved.q = of.take(c.dtype, {tokens, c.q_heads, c.head_dim_k});
  saved.sel = of.keys(tokens);
  if (c.attention == AttentionKind::nsa) saved.win = of.keys(tokens);
  take_between(workspace, c, p, saved);
  saved.o = of.heads();
}

LayerSaved take_saved(Workspace& workspace, const ModelConfig& c, const Problem& p) {
  const std::int64_t tokens = p.total_tokens();
  const Taking of(workspace, c, tokens);
  LayerSaved saved;
  take_attention(workspace, c, p, saved);
  if (c.attention == AttentionKind::nsa)
    saved.blocks = of.take(Dtype::int32, {tokens, c.kv_heads, c.geometry.sel_count});
  saved.x1 = of.take(c.dtype, {tokens, c.model_dim});
  saved.hidden = of.take(c.dtype, {tokens, c.mlp_ratio * c.model_dim});
  return saved;
}

}  // namespace nsa::training
