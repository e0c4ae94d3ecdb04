#include "runtime/composite/bounds.hpp"

#include <algorithm>
#include <initializer_list>

#include "catalog/cost.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "runtime/composite/stages.hpp"
#include "runtime/dense.hpp"
#include "training/pass.hpp"

namespace nsa {
namespace {

/// Whether some row that may be chosen runs the stage on the device, and if not, why the last one
/// does not.
Support stage_support(Stage stage, const Problem& p, const Device& device) {
  Support answer = Support::no("not in this build");
  for (const Variant* row : candidates_of(stage, device.backend, p.direction)) {
    answer = supports(*row, p, device);
    if (answer.supported) return answer;
  }
  return Support::no(to_string(stage), ": ", answer);
}

/// Whether each stage with a gradient has a row for it: plans name none that has to run.
Support gradients_run(const Variant& composite, const Problem& p, const Device& device) {
  const Problem backward =
      in_direction(composite.plan.dense ? dense_problem(p) : p, Direction::backward);
  for (const Stage stage : stages_within(composite)) {
    if (signature_of(stage, Direction::backward).outputs.empty()) continue;
    if (Support answer = stage_support(stage, backward, device); !answer.supported) return answer;
  }
  return Support::yes();
}

Cost sum(std::initializer_list<Cost> costs) {
  Cost sum;
  for (const Cost& one : costs) sum = {sum.flop + one.flop, sum.bytes + one.bytes};
  return sum;
}

/// Both passes of attention, with those of the projections around it.
Cost with_projections(const Problem& p, const Cost& attention) {
  return sum({attention, project_rope_cost(p), out_proj_cost(p), project_rope_backward_cost(p),
              out_proj_backward_cost(p)});
}

/// Layers in both passes, and of what a model has around them the forward pass once and twice as
/// much backward.
Cost model_passes(const Problem& p, const Cost& layer, const Cost& layer_passes) {
  const Cost forward = model_cost(p);
  const auto layers = static_cast<double>(p.model.layers);
  const auto both = [&](double all, double one, double one_passes) {
    return 3 * (all - layers * one) + layers * one_passes;
  };
  return {both(forward.flop, layer.flop, layer_passes.flop),
          both(forward.bytes, layer.bytes, layer_passes.bytes)};
}

/// Workspace of the hungriest row in that direction. Rows that write down whole matrices of
/// probabilities leave no room on any device for long sequences, and the built-in order has others:
/// they do not count there, and where a table chooses one the workspace grows.
std::int64_t hungriest(const Problem& p, Backend backend, Direction direction) {
  constexpr std::int64_t kTooMuch = std::int64_t{32} << 30;
  const Problem asked = in_direction(p, direction);
  std::int64_t most = 0;
  for (const Variant& row : catalog()) {
    if (is_composite(row) || row.backend != backend || row.direction != direction) continue;
    const std::int64_t bytes = workspace_of(row, asked);
    if (bytes <= kTooMuch) most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

Support stages_run(const Variant& composite, const Problem& p, const Device& device) {
  if (p.direction == kForwardBackward) {
    const Support forward = stages_run(composite, in_direction(p, kForwardSaving), device);
    return forward.supported ? gradients_run(composite, p, device) : forward;
  }
  // Dense attention runs the rows of the window over a problem of its own.
  const Problem seen = composite.plan.dense ? dense_problem(p) : p;
  for (const Part& part : composite.plan.parts) {
    const Support answer = supports(*part.row, part.stage < Stage::attention ? seen : p, device);
    if (!answer.supported) return Support::no(to_string(part.stage), ": ", answer);
  }
  const auto& covers = composite.plan.covers;
  for (const Stage stage : stages_within(composite)) {
    if (composite.plan.part(stage) || std::ranges::find(covers, stage) != covers.end()) continue;
    if (Support answer = stage_support(stage, seen, device); !answer.supported) return answer;
  }
  return Support::yes();
}

std::int64_t between_attention(const Problem& p, Backend backend) {
  const auto element = static_cast<std::int64_t>(size_of(p.dtype));
  std::int64_t between = 4 * p.total_tokens() * p.q_heads * p.head_dim_v * element;
  between += p.total_context() / p.geometry.cmp_stride * p.kv_heads *
             (p.head_dim_k + p.head_dim_v) * element;
  between += 3 * p.total_tokens() * p.kv_heads * p.geometry.sel_count * 4;
  if (backend != Backend::cpu) {
    constexpr std::int64_t kAlignment = 4096;  // of a few tensors
    between += 2 * p.batch() * static_cast<std::int64_t>(sizeof(Sequence)) + kAlignment;
  }
  return between;
}

std::int64_t between_layer(const Problem& p) {
  constexpr std::int64_t kAlignment = 4096;  // of a few tensors
  const auto element = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t row = qkv_rows(p) + p.q_heads * p.head_dim_v;
  return p.total_tokens() * row * element + kAlignment;
}

std::int64_t between_model(const Problem& p, Backend backend) {
  constexpr std::int64_t kAlignment = 4096;  // of a few tensors
  const std::int64_t row = p.total_tokens() * p.model.model_dim;
  if (backend !=
      Backend::cpu) {  // x, its norm, the sum's other part, and an MLP four times as wide
    return row * (3 + 4) * static_cast<std::int64_t>(size_of(p.dtype)) + kAlignment;
  }
  return row * (3 * 8 + 4 * 16) + p.model.model_dim * p.model.model_dim * 16;
}

std::int64_t attention_workspace(const Problem& p, Backend backend) {
  return between_attention(p, backend) + hungriest(p, backend, p.direction);
}

std::int64_t attention_both_passes_workspace(const Problem& p, Backend backend) {
  // Outputs of the branches and compressed rows have gradients of their size; then log-sum-exps and
  // gates in fp32.
  const std::int64_t saved = 4 * p.total_tokens() * 3 * (p.q_heads + p.kv_heads);
  return 2 * between_attention(p, backend) + saved +
         std::max(hungriest(p, backend, Direction::forward),
                  hungriest(p, backend, Direction::backward));
}

std::int64_t layer_workspace(const Problem& p, Backend backend) {
  return attention_workspace(p, backend) + between_layer(p);
}

std::int64_t layer_both_passes_workspace(const Problem& p, Backend backend) {
  // Everything that is projected has a gradient, and so has the output of attention.
  return attention_both_passes_workspace(p, backend) + 2 * between_layer(p);
}

std::int64_t model_workspace(const Problem& p, Backend backend) {
  return layer_workspace(p, backend) + between_model(p, backend);
}

std::int64_t model_both_passes_workspace(const Problem& p, Backend backend) {
  const ModelConfig config = config_of(p);
  const std::int64_t tokens = p.total_tokens(), dim = config.model_dim,
                     wide = config.mlp_ratio * dim, vocab = config.vocab_size,
                     rows = training::head_rows_at_once(tokens, vocab);
  // Rows around the MLP and in it, and on a CPU all operands of its products in the type that is
  // computed in.
  const std::int64_t around =
      tokens * (4 * dim + 3 * wide) * 8 + (backend == Backend::cpu ? 2 : 0) * wide * dim * 8;
  const std::int64_t head = rows * (2 * vocab + dim) * 8 + 3 * vocab * dim * 8 + tokens * 8;
  return static_cast<std::int64_t>(training::kept_bytes(config, p)) +
         layer_both_passes_workspace(p, backend) + around + head;
}

Cost attention_both_passes_cost(const Problem& p) {
  return sum({attention_cost(p), compress_backward_cost(p), attend_compressed_backward_cost(p),
              attend_selected_backward_cost(p), attend_window_backward_cost(p),
              gate_combine_backward_cost(p)});
}

Cost dense_attention_both_passes_cost(const Problem& p) {
  return sum({dense_attention_cost(p), attend_window_backward_cost(dense_problem(p))});
}

Cost layer_both_passes_cost(const Problem& p) {
  return with_projections(p, attention_both_passes_cost(p));
}

Cost dense_layer_both_passes_cost(const Problem& p) {
  return with_projections(p, dense_attention_both_passes_cost(p));
}

Cost dense_layer_cost(const Problem& p) {
  const Cost nsa = layer_cost(p), parts = attention_cost(p), dense = dense_attention_cost(p);
  return {nsa.flop - parts.flop + dense.flop, nsa.bytes - parts.bytes + dense.bytes};
}

Cost model_both_passes_cost(const Problem& p) {
  return model_passes(p, layer_cost(p), layer_both_passes_cost(p));
}

Cost dense_model_both_passes_cost(const Problem& p) {
  return model_passes(p, layer_cost(p), dense_layer_both_passes_cost(p));
}

Cost dense_model_cost(const Problem& p) {
  const Cost nsa = model_cost(p), with = layer_cost(p), without = dense_layer_cost(p);
  const auto layers = static_cast<double>(p.model.layers);
  return {nsa.flop + layers * (without.flop - with.flop),
          nsa.bytes + layers * (without.bytes - with.bytes)};
}

}  // namespace nsa
