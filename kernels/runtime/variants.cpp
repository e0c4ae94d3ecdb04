// The rows of the composites.
#include <algorithm>
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "dense.hpp"
#include "nsa/kernels/runtime.hpp"
#include "plans.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kAttentionStage{Stage::attention};
constexpr std::array kLayerStage{Stage::layer};
constexpr std::array kModelStage{Stage::model};

Support any_phase(const Problem&, const Device&) { return Support::yes(); }

Support several_tokens(const Problem& p, const Device&) {
  if (p.phase != Phase::decode) return Support::yes();
  return Support::no("a decode step has one token: sequential and batched are the same");
}

Support from_empty_cache(const Problem& p, const Device&) {
  if (p.phase != Phase::prefill) {
    return Support::no(
        "layers and models are measured from an empty cache; `run --decode` times steps");
  }
  if (p.model.model_dim < 1) return Support::no("the problem has no model_dim");
  return Support::yes();
}

Support whole_model(const Problem& p, const Device& device) {
  if (p.model.layers < 1 || p.model.vocab_size < 2) {
    return Support::no("the problem has no layers and vocab_size");
  }
  return from_empty_cache(p, device);
}

/// Upper bound over the stages: what lies between them, and the hungriest row of each.
std::int64_t attention_workspace(const Problem& p) {
  const auto element = static_cast<std::int64_t>(size_of(p.dtype));
  std::int64_t between = 4 * p.total_tokens() * p.q_heads * p.head_dim_v * element;
  between += p.total_context() / p.geometry.cmp_stride * p.kv_heads *
             (p.head_dim_k + p.head_dim_v) * element;
  between += 3 * p.total_tokens() * p.kv_heads * p.geometry.sel_count * 4;
  std::int64_t hungriest = 0;
  for (const Variant& row : catalog()) {
    const bool composite = row.stages.front() >= Stage::attention;
    if (composite || row.backend != Backend::cpu || !row.workspace_bytes) continue;
    hungriest = std::max(hungriest, row.workspace_bytes(p));
  }
  return between + hungriest;
}

std::int64_t layer_workspace(const Problem& p) {
  const auto element = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t row =
      p.q_heads * (p.head_dim_k + p.head_dim_v) + 3 * p.kv_heads * (p.head_dim_k + p.head_dim_v);
  return attention_workspace(p) + p.total_tokens() * row * element;
}

std::int64_t model_workspace(const Problem& p) {
  return layer_workspace(p) + p.total_tokens() * p.model.model_dim * (3 * 8 + 4 * 16) +
         p.model.model_dim * p.model.model_dim * 16;
}

Cost dense_layer_cost(const Problem& p) {
  const Cost nsa = layer_cost(p), parts = attention_cost(p), dense = dense_attention_cost(p);
  return {nsa.flop - parts.flop + dense.flop, nsa.bytes - parts.bytes + dense.bytes};
}

Cost dense_model_cost(const Problem& p) {
  const Cost nsa = model_cost(p), with = layer_cost(p), without = dense_layer_cost(p);
  const auto layers = static_cast<double>(p.model.layers);
  return {nsa.flop + layers * (without.flop - with.flop),
          nsa.bytes + layers * (without.bytes - with.bytes)};
}

Context context_of(const LaunchArgs& args, const Plan& plan) {
  Context context;
  context.router = &router_of(plan);
  context.workspace = &args.workspace;
  context.stream = args.stream;
  context.constants = args.constants;
  return context;
}

AttentionTensors attention_tensors(const LaunchArgs& args) {
  const auto& in = args.in;
  return {in[0], in[1], in[2], in[3],  in[4],       in[5],      in[6],
          in[7], in[8], in[9], in[10], args.out[0], args.out[1]};
}

void attend_plan(const LaunchArgs& args, const Plan& plan) {
  attention(context_of(args, plan), args.problem, attention_tensors(args), args.saved);
}

void attend_dense(const LaunchArgs& args) {
  dense_attention(context_of(args, plans().front()), args.problem, attention_tensors(args));
  no_blocks(args.out[1]);
}

void run_layer(const LaunchArgs& args, const Plan& plan, AttentionKind kind) {
  const auto& in = args.in;
  attention_layer(context_of(args, plan), args.problem, in[0],
                  {in[1], in[2], in[3], in[4], in[5], in[6]}, args.out[0], nullptr, kind,
                  args.out[1]);
  if (kind == AttentionKind::dense) no_blocks(args.out[1]);
}

void run_model(const LaunchArgs& args, const Plan& plan, AttentionKind kind) {
  ModelConfig config = config_of(args.problem);
  config.attention = kind;
  model_forward(context_of(args, plan), config, args.problem, bind_weights(config, args.in[1]),
                args.in[0], args.out[0]);
}

template <std::size_t I>
constexpr Variant attention_row(const Plan& plan,
                                Support (*supports)(const Problem&, const Device&),
                                std::string_view what) {
  return {.stages = kAttentionStage,
          .name = plan.name,
          .dtypes = kAllDtypes,
          .what = what,
          .supports = supports,
          .cost = attention_cost,
          .workspace_bytes = attention_workspace,
          .launch = [](const LaunchArgs& args) { attend_plan(args, plans()[I]); },
          .source_hash = source_hash::runtime};
}

template <std::size_t I>
constexpr Variant layer_row(const Plan& plan, std::string_view what) {
  return {.stages = kLayerStage,
          .name = plan.name,
          .dtypes = kAllDtypes,
          .what = what,
          .supports = from_empty_cache,
          .cost = layer_cost,
          .workspace_bytes = layer_workspace,
          .launch = [](const LaunchArgs& args) { run_layer(args, plans()[I], AttentionKind::nsa); },
          .source_hash = source_hash::runtime};
}

template <std::size_t I>
constexpr Variant model_row(const Plan& plan, std::string_view what) {
  return {.stages = kModelStage,
          .name = plan.name,
          .dtypes = kAllDtypes,
          .what = what,
          .supports = whole_model,
          .cost = model_cost,
          .workspace_bytes = model_workspace,
          .launch = [](const LaunchArgs& args) { run_model(args, plans()[I], AttentionKind::nsa); },
          .source_hash = source_hash::runtime};
}

/// The same composite with dense causal attention: another answer, so measured and never chosen.
constexpr Variant dense_row(std::span<const Stage> stages,
                            Support (*supports)(const Problem&, const Device&),
                            Cost (*cost)(const Problem&), std::int64_t (*workspace)(const Problem&),
                            void (*launch)(const LaunchArgs&)) {
  return {.stages = stages,
          .name = "dense",
          .role = Role::yardstick,
          .dtypes = kAllDtypes,
          .what = "Dense causal attention instead of NSA: what it has to beat.",
          .supports = supports,
          .cost = cost,
          .workspace_bytes = workspace,
          .launch = launch,
          .source_hash = source_hash::runtime};
}

constexpr std::string_view kBatched = "All tokens through each stage at once.";
constexpr std::string_view kSequential =
    "Token after token, as a decode loop: what the seeds' default prefill did.";

}  // namespace

std::span<const Variant> attention_variants() {
  static const std::array rows{
      attention_row<0>(plans()[0], any_phase, kBatched),
      attention_row<1>(plans()[1], any_phase, "Batched, selected branch by `masked`."),
      attention_row<2>(plans()[2], any_phase, "Batched, selected branch by `packed`."),
      attention_row<3>(plans()[3], any_phase, "Batched, selected branch by `varlen_v2`."),
      attention_row<4>(plans()[4], any_phase, "Batched, selected branch by `dense_prefix`."),
      attention_row<5>(plans()[5], several_tokens, kSequential),
      dense_row(kAttentionStage, any_phase, dense_attention_cost, attention_workspace,
                attend_dense),
  };
  return rows;
}

std::span<const Variant> layer_variants() {
  static const std::array rows{
      layer_row<0>(plans()[0], kBatched),
      layer_row<5>(plans()[5], kSequential),
      dense_row(kLayerStage, from_empty_cache, dense_layer_cost, layer_workspace,
                [](const LaunchArgs& args) { run_layer(args, plans()[0], AttentionKind::dense); }),
  };
  return rows;
}

std::span<const Variant> model_variants() {
  static const std::array rows{
      model_row<0>(plans()[0], kBatched),
      model_row<5>(plans()[5], kSequential),
      dense_row(kModelStage, whole_model, dense_model_cost, model_workspace,
                [](const LaunchArgs& args) { run_model(args, plans()[0], AttentionKind::dense); }),
  };
  return rows;
}

}  // namespace nsa
