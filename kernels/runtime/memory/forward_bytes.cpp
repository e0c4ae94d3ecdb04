// The memory model of a forward pass: model.cpp, layer.cpp, attention.cpp and attend.cpp once more,
// of which only what they take of the workspace is left; a test compares both.
#include "nsa/kernels/forward_bytes.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/attention.hpp"
#include "runtime/dense.hpp"
#include "runtime/memory/reserve.hpp"
#include "training/arenas.hpp"
#include "training/ops.hpp"

namespace nsa {
namespace {

class CountedForward {
 public:
  CountedForward(const Router& router, const ModelConfig& config, const Problem& problem,
                 const AttentionOptions& options)
      : c_(config),
        p_(problem),
        backend_(router.inputs().device.backend),
        ops_(training::counting_ops(backend_)),
        workspace_(nowhere_, training::Nowhere::kEndless) {
    context_.router = &router;
    context_.workspace = &workspace_;
    context_.options = options;
  }

  std::size_t peak_bytes() const { return workspace_.peak_bytes(); }

  /// As model_forward(). All layers take the same, one after another.
  void model() {
    const std::int64_t rows = p_.total_tokens(), dim = c_.model_dim, wide = c_.mlp_ratio * dim;
    const Choice chosen = choose(context_, Stage::model, p_);
    const Context of_model = within(context_, chosen);
    place(p_.batch());
    take({rows, dim});  // x
    const TensorView normed = take({rows, dim}), delta = take({rows, dim});
    const Choice layer = choose(of_model, Stage::layer, p_);
    this->layer(within(of_model, layer));
    {
      const WorkspaceScope scratch(workspace_);
      const TensorView hidden = take({rows, wide});
      linear(normed, hidden);
      linear(hidden, delta);
    }
    linear(normed, make_view(nullptr, c_.dtype, {rows, c_.vocab_size}));
  }

 private:
  void layer(const Context& context) {
    const WorkspaceScope scratch(workspace_);
    const bool nsa = c_.attention == AttentionKind::nsa;
    const bool sel = !nsa || on(Branch::sel);
    const std::int64_t tokens = p_.total_tokens();
    take({tokens, p_.q_heads, p_.head_dim_v});  // o
    take({tokens, p_.q_heads, p_.head_dim_k});  // q
    for (const bool taken : {nsa && (on(Branch::cmp) || sel), sel, nsa && on(Branch::win)})
      if (taken) take_kv(p_, tokens);
    run(context, Stage::project_rope, p_);
    nsa ? attention(context) : run(context, Stage::attend_window, dense_problem(p_));
    run(context, Stage::out_proj, p_);
  }

  void attention(const Context& of_layer) {
    const Choice chosen = choose_attention(of_layer, p_, nullptr);
    const Context context = within(of_layer, chosen);
    plan_of(&chosen).mode == CompositePlan::Mode::sequential ? sequential(context)
                                                             : batched(context);
  }

  void batched(const Context& context) {
    const WorkspaceScope scratch(workspace_);
    const Sequence last = sequences_of(p_).back();
    const std::int64_t rows = last.cmp_begin + last.cmp_len;
    take_kv(p_, rows);
    if ((on(Branch::cmp) || on(Branch::sel)) && rows > 0) run(context, Stage::compress, p_);
    attend(context, p_);
  }

  /// The last token of the longest sequence takes the most.
  void sequential(const Context& context) {
    const WorkspaceScope scratch(workspace_);
    Problem block = p_, token = p_;
    block.seq_lens = {p_.geometry.cmp_block};
    block.context_lens = {0};
    token.phase = Phase::decode;
    token.seq_lens = {1};
    token.context_lens = {p_.max_kv_len() - 1};
    take_kv(p_, num_compressed(p_.max_kv_len(), p_.geometry));
    place(1);
    run(context, Stage::compress, block);
    attend(context, token);
  }

  void attend(const Context& context, const Problem& p) {
    if (plan_of(context.within).mode == CompositePlan::Mode::one_kernel) return;
    const WorkspaceScope scratch(workspace_);
    const std::int64_t tokens = p.total_tokens();
    for (int branch = 0; branch < 3; ++branch) take({tokens, p.q_heads, p.head_dim_v});
    const std::int64_t selected = tokens * p.kv_heads * p.geometry.sel_count;
    if (on(Branch::sel)) take_tensor(workspace_, Dtype::int32, {selected});
    attend_and_score(context, p);
    if (on(Branch::sel)) {
      if (needs_ranges(context, p)) {
        take_tensor(workspace_, Dtype::int32, {selected, 2});
        run(context, Stage::ranges, p);
      }
      const std::int64_t reserved = reserved_bytes(*context.router, p, *context.within);
      run(choose(context, Stage::attend_selected, p), Stage::attend_selected, p, reserved);
    }
    if (on(Branch::win)) run(context, Stage::attend_window, p);
    run(context, Stage::gate_combine, p);
  }

  void attend_and_score(const Context& context, const Problem& p) {
    static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
    if (on(Branch::cmp) && on(Branch::sel)) {
      const Cover cover = context.router->cover(kBoth, p, context.within);
      for (std::size_t i = 0; i < cover.choices().size(); ++i) run(cover.choices()[i], kBoth[i], p);
      return;
    }
    if (on(Branch::cmp)) run(context, Stage::attend_compressed, p);
    if (on(Branch::sel)) run(context, Stage::score, p);
  }

  void run(const Context& context, Stage stage, const Problem& p) {
    run(choose(context, stage, p), stage, p);
  }
  void run(const Choice& choice, Stage stage, const Problem& p, std::int64_t least = 0) {
    if (!choice.variant) throw InputError(std::string(to_string(stage)) + ": " + kNoRow);
    const WorkspaceScope scratch(workspace_);
    workspace_.take(static_cast<std::size_t>(std::max(workspace_of(*choice.variant, p), least)));
  }

  /// By weights of the shape that y and x have.
  void linear(const TensorView& x, const TensorView& y) {
    ops_.linear(context_, x, make_view(nullptr, c_.dtype, {y.shape[1], x.shape[1]}), y);
  }
  void place(std::int64_t sequences) {
    if (backend_ != Backend::cpu) workspace_.take<Sequence>(sequences);
  }
  TensorView take(std::initializer_list<std::int64_t> shape) {
    return take_tensor(workspace_, c_.dtype, shape);
  }
  void take_kv(const Problem& p, std::int64_t rows) {
    take({rows, p.kv_heads, p.head_dim_k});
    take({rows, p.kv_heads, p.head_dim_v});
  }
  bool on(Branch branch) const { return context_.options.on(branch); }

  static constexpr const char* kNoRow =
      "no variant of this build runs this problem on this device; `nsatune variants` lists them "
      "with the reasons";

  const ModelConfig& c_;
  const Problem& p_;
  Backend backend_;
  const training::TrainingOps& ops_;
  training::Nowhere nowhere_;
  Workspace workspace_;
  Context context_;
};

}  // namespace

ForwardBytes predict_forward(const Router& router, const ModelConfig& config,
                             const Problem& problem, const AttentionOptions& options) {
  const auto element = static_cast<std::int64_t>(size_of(config.dtype));
  CountedForward pass(router, config, problem, options);
  pass.model();
  return {.weights = parameter_count(config) * element,
          .workspace = static_cast<std::int64_t>(pass.peak_bytes()),
          .inputs = problem.total_tokens() * (static_cast<std::int64_t>(sizeof(std::int32_t)) +
                                              config.vocab_size * element)};
}

}  // namespace nsa
