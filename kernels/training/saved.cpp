#include "training/saved.hpp"

namespace nsa::training {

std::int64_t compressed_rows(const Problem& problem) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return sequences.back().cmp_begin + sequences.back().cmp_len;
}

LayerSaved take_saved(Workspace& workspace, const ModelConfig& c, const Problem& p) {
  const std::int64_t tokens = p.total_tokens();
  const bool nsa = c.attention == AttentionKind::nsa;
  const auto take = [&](Dtype dtype, std::initializer_list<std::int64_t> shape) {
    return take_tensor(workspace, dtype, shape);
  };
  const auto keys = [&](std::int64_t rows) {
    return KvTensors{.k = take(c.dtype, {rows, c.kv_heads, c.head_dim_k}),
                     .v = take(c.dtype, {rows, c.kv_heads, c.head_dim_v})};
  };
  const auto heads = [&] { return take(c.dtype, {tokens, c.q_heads, c.head_dim_v}); };
  const auto lse = [&] { return take(Dtype::fp32, {tokens, c.q_heads}); };
  LayerSaved saved;
  saved.q = take(c.dtype, {tokens, c.q_heads, c.head_dim_k});
  saved.sel = keys(tokens);
  saved.stages.lse_win = lse();
  if (nsa) {
    saved.win = keys(tokens);
    saved.cmp = keys(compressed_rows(p));
    saved.blocks = take(Dtype::int32, {tokens, c.kv_heads, c.geometry.sel_count});
    for (TensorView& branch : saved.branches) branch = heads();
    saved.stages.lse_cmp = lse();
    saved.stages.lse_sel = lse();
    saved.stages.gates = take(Dtype::fp32, {tokens, c.kv_heads, 3});
  }
  saved.o = heads();
  saved.x1 = take(c.dtype, {tokens, c.model_dim});
  saved.hidden = take(c.dtype, {tokens, c.mlp_ratio * c.model_dim});
  return saved;
}

}  // namespace nsa::training
