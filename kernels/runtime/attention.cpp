#include "attention.hpp"

#include <algorithm>

#include "decode/step.hpp"
#include "operands/select.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

/// Room for compressed rows.
KvTensors take_compressed(Workspace& workspace, const Problem& p, std::int64_t rows) {
  return {.k = take_tensor(workspace, p.dtype, {rows, p.kv_heads, p.head_dim_k}),
          .v = take_tensor(workspace, p.dtype, {rows, p.kv_heads, p.head_dim_v})};
}

/// Rows that a stage reads or writes for one token of one sequence.
AttentionTensors token_view(const AttentionTensors& t, std::int64_t row) {
  AttentionTensors view = t;
  view.q = slice_rows(t.q, row, 1);
  view.o = slice_rows(t.o, row, 1);
  if (t.blocks) view.blocks = slice_rows(t.blocks, row, 1);
  return view;
}

Saved token_saved(const Saved& saved, std::int64_t row) {
  Saved view;
  const auto slice = [row](const TensorView& t) { return t ? slice_rows(t, row, 1) : t; };
  view.lse_cmp = slice(saved.lse_cmp);
  view.lse_sel = slice(saved.lse_sel);
  view.lse_win = slice(saved.lse_win);
  view.blocks = slice(saved.blocks);
  view.gates = slice(saved.gates);
  return view;
}

/// One sequence of a batch, token after token: what a decode loop does, and what the users' default
/// prefill did.
class SequentialPrefill {
 public:
  SequentialPrefill(const Context& context, const Problem& problem, const AttentionTensors& tensors,
                    Saved* saved)
      : context_(context), tensors_(tensors), saved_(saved), token_(problem), block_(problem) {
    token_.phase = Phase::decode;
    token_.seq_lens = {1};
    block_.phase = Phase::prefill;
    block_.seq_lens = {problem.geometry.cmp_block};
    block_.context_lens = {0};
  }

  void run(const Sequence& sequence) {
    const WorkspaceScope scratch(*context_.workspace);
    const KvTensors cmp = take_compressed(*context_.workspace, token_, sequence.cmp_len);
    // A tile may hold rows that no block has filled yet; their weight is 0, and 0 x NaN is NaN.
    for (const TensorView& rows : {cmp.k, cmp.v}) {
      if (rows.elements() > 0) ops_of(context_).fill(context_, rows, std::byte{0});
    }
    // The last token takes the most.
    const bool last_only = ops_of(context_).only_counts();
    std::int64_t emitted = last_only ? std::max<std::int64_t>(sequence.cmp_len - 1, 0) : 0;
    for (std::int64_t i = last_only ? sequence.q_len - 1 : 0; i < sequence.q_len; ++i) {
      const std::int64_t position = sequence.first_position() + i;
      const std::int64_t visible = num_compressed(position + 1, token_.geometry);
      for (; emitted < visible; ++emitted) emit(sequence, emitted, cmp);
      step(sequence, i, position, visible, cmp);
    }
  }

 private:
  /// Pools compression block `c` of the sequence.
  void emit(const Sequence& sequence, std::int64_t c, const KvTensors& cmp) {
    const Geometry& g = token_.geometry;
    const WorkspaceScope scratch(*context_.workspace);
    const Sequence one{.q_begin = 0,
                       .q_len = g.cmp_block,
                       .kv_begin = sequence.kv_begin + c * g.cmp_stride,
                       .kv_len = g.cmp_block,
                       .cmp_begin = c,
                       .cmp_len = 1};
    run_stage(context_, Stage::compress, block_, place_sequences(context_, {&one, 1}),
              CompressTensors{.raw = tensors_.cmp, .pooled = cmp});
  }

  void step(const Sequence& sequence, std::int64_t i, std::int64_t position, std::int64_t visible,
            const KvTensors& cmp) {
    token_.context_lens = {position};
    const WorkspaceScope scratch(*context_.workspace);
    const Sequence one{.q_begin = 0,
                       .q_len = 1,
                       .kv_begin = sequence.kv_begin,
                       .kv_len = position + 1,
                       .cmp_begin = 0,
                       .cmp_len = visible};
    const PlacedSequences placed = place_sequences(context_, {&one, 1});
    AttentionTensors tensors = token_view(tensors_, sequence.q_begin + i);
    tensors.cmp = cmp;
    Saved saved;
    if (saved_) saved = token_saved(*saved_, sequence.q_begin + i);
    attend(context_, {token_, placed, token_, placed}, tensors, saved_ ? &saved : nullptr);
  }

  const Context& context_;
  const AttentionTensors& tensors_;
  Saved* saved_;
  Problem token_, block_;
};

/// All tokens through compression at once, then through what the plan has after it.
void attention_batched(const Context& context, const Problem& problem,
                       const PlacedSequences& sequences, const AttentionTensors& t, Saved* saved) {
  const WorkspaceScope scratch(*context.workspace);
  const Sequence& last = sequences.host.back();
  const std::int64_t rows = last.cmp_begin + last.cmp_len;
  const KvTensors cmp = take_compressed(*context.workspace, problem, rows);
  const bool pooled = context.options.on(Branch::cmp) || context.options.on(Branch::sel);
  if (pooled && rows > 0) {
    run_stage(context, Stage::compress, problem, sequences,
              CompressTensors{.raw = t.cmp, .pooled = cmp}, saved);
  }
  AttentionTensors pooled_tensors = t;
  pooled_tensors.cmp = cmp;
  attend(context, {problem, sequences, problem, sequences}, pooled_tensors, saved);
}

void attention_sequential(const Context& context, const Problem& problem, const AttentionTensors& t,
                          Saved* saved) {
  SequentialPrefill prefill(context, problem, t, saved);
  for (const Sequence& sequence : sequences_of(problem)) prefill.run(sequence);
}

}  // namespace

Choice choose_attention(const Context& context, const Problem& problem,
                        const Saved* saved) noexcept {
  const bool whole = !saved && context.options.branches == kAllBranches;
  return choose(context, Stage::attention, problem, whole ? Form::any : Form::stage_by_stage);
}

void attend_step(const Context& context, const AttendPlaces& places,
                 const AttentionTensors& tensors) {
  if (context.telemetry) {
    context.telemetry->engaged(Stage::attention, context.within->variant->name);
  }
  decode::kAttendStep(places.problem, tensors,
                      {places.sequences.device, places.window_sequences.device}, context.options,
                      context.stream);
}

void attention_placed(const Context& context, const Choice& chosen, const Problem& problem,
                      const PlacedSequences& sequences, const AttentionTensors& tensors,
                      Saved* saved) {
  const Context inner = within(context, chosen);
  const std::string_view name = chosen.variant ? chosen.variant->name : std::string_view("none");
  const StageScope scope(context.observer, Stage::attention, name, problem.max_seq_len(),
                         context.stream);
  if (plan_of(&chosen).mode == CompositePlan::Mode::sequential) {
    attention_sequential(inner, problem, tensors, saved);
  } else {
    attention_batched(inner, problem, sequences, tensors, saved);
  }
}

void attention_by(const Context& context, const Choice& chosen, const Problem& problem,
                  const AttentionTensors& tensors, Saved* saved) {
  const WorkspaceScope scratch(*context.workspace);
  const std::vector<Sequence> sequences = sequences_of(problem);
  attention_placed(context, chosen, problem, place_sequences(context, sequences), tensors, saved);
}

void attention(const Context& context, const Problem& problem, const AttentionTensors& tensors,
               Saved* saved) {
  attention_by(context, choose_attention(context, problem, saved), problem, tensors, saved);
}

}  // namespace nsa
