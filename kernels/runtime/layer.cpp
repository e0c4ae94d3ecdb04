#include "layer.hpp"

#include "attention.hpp"
#include "cache.hpp"
#include "dense.hpp"

namespace nsa {
namespace {

TensorView take_heads(const Context& context, const Problem& p, std::int64_t tokens,
                      std::int64_t heads, std::int64_t dim) {
  return take_tensor(*context.workspace, p.dtype, {tokens, heads, dim});
}

/// Projections of the branches that are on; the stage leaves out what has no tensor.
Projected project(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const TensorView& x, const TensorView& w_qkv, AttentionKind kind) {
  const std::int64_t tokens = x.shape[0];
  const bool nsa = kind == AttentionKind::nsa;
  const bool sel = !nsa || branch_on(context.constants, 1);
  const bool win = nsa && branch_on(context.constants, 2);
  const bool cmp = nsa && (branch_on(context.constants, 0) || sel);
  const auto take = [&](bool on, std::int64_t dim) {
    return on ? take_heads(context, p, tokens, p.kv_heads, dim) : TensorView{};
  };
  Projected r;
  r.q = take_heads(context, p, tokens, p.q_heads, p.head_dim_k);
  r.k_cmp_raw = take(cmp, p.head_dim_k);
  r.v_cmp_raw = take(cmp, p.head_dim_v);
  r.k_sel = take(sel, p.head_dim_k);
  r.v_sel = take(sel, p.head_dim_v);
  r.k_win = take(win, p.head_dim_k);
  r.v_win = take(win, p.head_dim_v);
  run_stage(context, {Stage::project_rope,
                      p,
                      sequences,
                      {x, w_qkv},
                      {r.q, r.k_cmp_raw, r.v_cmp_raw, r.k_sel, r.v_sel, r.k_win, r.v_win}});
  return r;
}

void attend_fresh(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const Projected& r, const LayerWeights& w, const TensorView& o,
                  const TensorView& blocks) {
  attention_placed(context, choose_attention(context, p, nullptr), p, sequences,
                   {r.q, r.k_cmp_raw, r.v_cmp_raw, r.k_sel, r.v_sel, r.k_win, r.v_win, w.fc1_w,
                    w.fc1_b, w.fc2_w, w.fc2_b, o, blocks},
                   nullptr);
}

/// The sequences of both caches, placed together.
struct CachedSequences {
  CachedSequences(const Context& context, const CachedKeys& sel, const CachedKeys& win)
      : both(sel.sequences) {
    both.insert(both.end(), win.sequences.begin(), win.sequences.end());
    const PlacedSequences placed = place_sequences(context, both);
    const std::size_t n = sel.sequences.size();
    selected = {placed.host.first(n), placed.device};
    window = {placed.host.subspan(n), placed.device + n};
  }
  std::vector<Sequence> both;
  PlacedSequences selected, window;
};

void attend_cached(const Context& context, const Problem& p, const Projected& r,
                   const LayerWeights& w, const TensorView& o, const TensorView& blocks,
                   KvCache& cache) {
  CachedLayer layer(context, cache, p);
  const CachedKeys sel = layer.append_selected(r);
  const CachedKeys win = layer.append_window(r);
  const CachedKeys cmp = layer.append_compressed(r);
  const CachedSequences sequences(context, sel, win);
  Problem window_problem = p;
  window_problem.context_lens = win.context_lens;
  const Choice chosen = choose_attention(context, p, nullptr);
  const std::string_view name = chosen.variant ? chosen.variant->name : std::string_view("none");
  const StageScope scope(context.observer, Stage::attention, name, p.max_seq_len(), context.stream);
  attend(within(context, chosen),
         {p, sequences.selected, window_problem, sequences.window, r.q, cmp.k, cmp.v, sel.k, sel.v,
          win.k, win.v, w.fc1_w, w.fc1_b, w.fc2_w, w.fc2_b, o, blocks},
         nullptr);
  layer.commit();
}

/// The same with lengths that lie on the device. The loop that made `step` chose the kernel, which
/// is what the context is within.
void attend_stepped(const Context& context, const Problem& p, const PlacedSequences& sequences,
                    const decode::StepSequences& step, const Projected& r, const LayerWeights& w,
                    const TensorView& o, const TensorView& blocks, KvCache& cache) {
  const StageScope scope(context.observer, Stage::attention, context.within->variant->name,
                         p.max_seq_len(), context.stream);
  const CacheViews all = CachedLayer::views_of(cache);
  decode::append_step(p,
                      {r.k_cmp_raw, r.v_cmp_raw, r.k_sel, r.v_sel, r.k_win, r.v_win, all.k_sel,
                       all.v_sel, all.k_win, all.v_win, all.k_raw, all.v_raw, all.k_cmp, all.v_cmp},
                      step, context.stream);
  const PlacedSequences window{sequences.host, step.window};
  attend_step(context, {p, sequences, p, window, r.q, all.k_cmp, all.v_cmp, all.k_sel, all.v_sel,
                        all.k_win, all.v_win, w.fc1_w, w.fc1_b, w.fc2_w, w.fc2_b, o, blocks});
}

void attend_dense(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const Projected& r, const TensorView& o, KvCache* cache) {
  if (!cache) {
    dense_rows(context, p, sequences, r.q, r.k_sel, r.v_sel, o);
    return;
  }
  CachedLayer layer(context, *cache, p);
  const CachedKeys keys = layer.append_selected(r);
  layer.flush();
  dense_rows(context, p, place_sequences(context, keys.sequences), r.q, keys.k, keys.v, o);
  layer.commit();
}

}  // namespace

void layer_placed(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const TensorView& x, const LayerWeights& weights, const TensorView& y,
                  KvCache* cache, AttentionKind kind, const TensorView& blocks,
                  const decode::StepSequences* step) {
  const StageScope scope(context.observer, Stage::layer,
                         kind == AttentionKind::dense ? "dense" : "nsa", p.max_seq_len(),
                         context.stream);
  const WorkspaceScope scratch(*context.workspace);
  const TensorView o = take_heads(context, p, x.shape[0], p.q_heads, p.head_dim_v);
  const Projected r = project(context, p, sequences, x, weights.w_qkv, kind);
  if (kind == AttentionKind::dense) {
    attend_dense(context, p, sequences, r, o, cache);
  } else if (step) {
    attend_stepped(context, p, sequences, *step, r, weights, o, blocks, *cache);
  } else if (cache) {
    attend_cached(context, p, r, weights, o, blocks, *cache);
  } else {
    attend_fresh(context, p, sequences, r, weights, o, blocks);
  }
  run_stage(context, {Stage::out_proj, p, sequences, {o, weights.w_o}, {y}});
}

void layer_by(const Context& context, const Choice& chosen, const Problem& p, const TensorView& x,
              const LayerWeights& weights, const TensorView& y, KvCache* cache, AttentionKind kind,
              const TensorView& blocks) {
  const WorkspaceScope scratch(*context.workspace);
  const std::vector<Sequence> sequences = sequences_of(p);
  layer_placed(within(context, chosen), p, place_sequences(context, sequences), x, weights, y,
               cache, kind, blocks);
}

void attention_layer(const Context& context, const Problem& p, const TensorView& x,
                     const LayerWeights& weights, const TensorView& y, KvCache* cache,
                     AttentionKind kind, const TensorView& blocks) {
  layer_by(context, choose(context, Stage::layer, p), p, x, weights, y, cache, kind, blocks);
}

}  // namespace nsa
