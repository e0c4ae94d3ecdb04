#include "layer.hpp"

#include "attention.hpp"
#include "cache.hpp"
#include "dense.hpp"
#include "operands/model.hpp"

namespace nsa {
namespace {

TensorView take_heads(const Context& context, const Problem& p, std::int64_t tokens,
                      std::int64_t heads, std::int64_t dim) {
  return take_tensor(*context.workspace, p.dtype, {tokens, heads, dim});
}

/// Projections of the branches that are on; the stage leaves out what has no tensor.
AttentionTensors project(const Context& context, const Problem& p, const PlacedSequences& sequences,
                         const LayerCall& call) {
  const std::int64_t tokens = call.x.shape[0];
  const bool nsa = call.kind == AttentionKind::nsa;
  const bool sel = !nsa || context.options.on(Branch::sel);
  const bool win = nsa && context.options.on(Branch::win);
  const bool cmp = nsa && (context.options.on(Branch::cmp) || sel);
  const auto take = [&](bool on) {
    if (!on) return KvTensors{};
    return KvTensors{.k = take_heads(context, p, tokens, p.kv_heads, p.head_dim_k),
                     .v = take_heads(context, p, tokens, p.kv_heads, p.head_dim_v)};
  };
  AttentionTensors t;
  t.q = take_heads(context, p, tokens, p.q_heads, p.head_dim_k);
  t.cmp = take(cmp);
  t.sel = take(sel);
  t.win = take(win);
  t.gate = call.weights.gate;
  run_stage(context, Stage::project_rope, p, sequences,
            ProjectTensors{.x = call.x,
                           .w_qkv = call.weights.w_qkv,
                           .q = t.q,
                           .cmp = t.cmp,
                           .sel = t.sel,
                           .win = t.win});
  return t;
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

/// Attention over a cache, to which the new rows are appended.
void attend_cached(const Context& context, const Problem& p, const AttentionTensors& fresh,
                   KvCache& cache) {
  CachedLayer layer(context, cache, p);
  const CachedKeys sel = layer.append_selected(fresh);
  const CachedKeys win = layer.append_window(fresh);
  const CachedKeys cmp = layer.append_compressed(fresh);
  const CachedSequences sequences(context, sel, win);
  Problem window_problem = p;
  window_problem.context_lens = win.context_lens;
  AttentionTensors cached = fresh;
  cached.cmp = cmp.kv;
  cached.sel = sel.kv;
  cached.win = win.kv;
  const Choice chosen = choose_attention(context, p, nullptr);
  const std::string_view name = chosen.variant ? chosen.variant->name : std::string_view("none");
  const StageScope scope(context.observer, Stage::attention, name, p.max_seq_len(), context.stream);
  attend(within(context, chosen), {p, sequences.selected, window_problem, sequences.window}, cached,
         nullptr);
  layer.commit();
}

/// The same with lengths that lie on the device. The loop that made `step` chose the kernel, which
/// is what the context is within.
void attend_stepped(const Context& context, const Problem& p, const PlacedSequences& sequences,
                    const decode::StepSequences& step, const AttentionTensors& fresh,
                    KvCache& cache) {
  const StageScope scope(context.observer, Stage::attention, context.within->variant->name,
                         p.max_seq_len(), context.stream);
  const decode::CacheTensors all = CachedLayer::tensors_of(KvCacheInside::of(cache));
  decode::kAppendStep(p, fresh, all, step, context.stream);
  AttentionTensors cached = fresh;
  cached.cmp = all.cmp;
  cached.sel = all.sel;
  cached.win = all.win;
  const PlacedSequences window{sequences.host, step.window};
  attend_step(context, {p, sequences, p, window}, cached);
}

void attend_dense(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const AttentionTensors& fresh, KvCache* cache) {
  if (!cache) {
    dense_rows(context, p, sequences, fresh.q, fresh.sel, fresh.o);
    return;
  }
  CachedLayer layer(context, *cache, p);
  const CachedKeys keys = layer.append_selected(fresh);
  layer.flush();
  dense_rows(context, p, place_sequences(context, keys.sequences), fresh.q, keys.kv, fresh.o);
  layer.commit();
}

}  // namespace

void layer_placed(const Context& context, const Problem& p, const PlacedSequences& sequences,
                  const LayerCall& call) {
  const bool dense = call.kind == AttentionKind::dense;
  const StageScope scope(context.observer, Stage::layer, dense ? "dense" : "nsa", p.max_seq_len(),
                         context.stream);
  const WorkspaceScope scratch(*context.workspace);
  const TensorView o = take_heads(context, p, call.x.shape[0], p.q_heads, p.head_dim_v);
  AttentionTensors fresh = project(context, p, sequences, call);
  fresh.o = o;
  fresh.blocks = call.blocks;
  if (dense) {
    attend_dense(context, p, sequences, fresh, call.cache);
  } else if (call.step) {
    attend_stepped(context, p, sequences, *call.step, fresh, *call.cache);
  } else if (call.cache) {
    attend_cached(context, p, fresh, *call.cache);
  } else {
    attention_placed(context, choose_attention(context, p, nullptr), p, sequences, fresh, nullptr);
  }
  run_stage(context, Stage::out_proj, p, sequences,
            OutProjTensors{.o = o, .w_o = call.weights.w_o, .y = call.y});
}

void layer_by(const Context& context, const Choice& chosen, const Problem& p,
              const LayerCall& call) {
  const WorkspaceScope scratch(*context.workspace);
  const std::vector<Sequence> sequences = sequences_of(p);
  layer_placed(within(context, chosen), p, place_sequences(context, sequences), call);
}

void attention_layer(const Context& context, const Problem& p, const LayerWeights& weights,
                     const LayerOperands& tensors, KvCache* cache, AttentionKind kind) {
  layer_by(context, choose(context, Stage::layer, p), p,
           {.x = tensors.x,
            .weights = weights,
            .y = tensors.y,
            .blocks = tensors.blocks,
            .cache = cache,
            .kind = kind});
}

}  // namespace nsa
