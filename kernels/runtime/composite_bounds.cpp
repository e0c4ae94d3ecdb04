#include "composite_bounds.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "catalog/cost.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa {
namespace {

constexpr std::array kAttentionStages{
    Stage::compress,        Stage::score,         Stage::ranges,      Stage::attend_compressed,
    Stage::attend_selected, Stage::attend_window, Stage::gate_combine};
constexpr std::array kProjections{Stage::project_rope, Stage::out_proj};

/// Whether some row that may be chosen runs the stage on the device, and if not, why the last one
/// does not.
Support stage_support(Stage stage, const Problem& p, const Device& device) {
  Support answer = Support::no(std::string(to_string(stage)) + " has no row for " +
                               std::string(to_string(device.backend)));
  for (const Variant& row : catalog()) {
    if (row.backend != device.backend || row.role != Role::candidate || row.stages.size() != 1 ||
        row.stages.front() != stage) {
      continue;
    }
    answer = supports(row, p, device);
    if (answer.supported && row.launch) return answer;
    const std::string why = answer.supported ? "not in this build" : answer.reason;
    answer = Support::no(std::string(to_string(stage)) + ": " + why);
  }
  return answer;
}

/// The first stage that nothing runs. The CPU has rows for every stage and problem.
template <std::size_t N>
Support all_support(const std::array<Stage, N>& stages, const Problem& p, const Device& device) {
  if (device.backend == Backend::cpu) return Support::yes();
  for (const Stage stage : stages) {
    Support answer = stage_support(stage, p, device);
    if (!answer.supported) return answer;
  }
  return Support::yes();
}

Support supports_dense(const Problem& p, const Device& device) {
  Problem dense = p;
  dense.geometry.window = std::max<std::int64_t>(p.max_kv_len(), 1);
  return all_support(std::array{Stage::attend_window}, dense, device);
}

}  // namespace

Support supports_pooling(const Problem& p, const Device& device) {
  return all_support(std::array{Stage::compress}, p, device);
}

Support supports_attention(const Problem& p, const Device& device, bool dense) {
  return dense ? supports_dense(p, device) : all_support(kAttentionStages, p, device);
}

Support supports_layer(const Problem& p, const Device& device, bool dense) {
  if (p.phase != Phase::prefill) {
    return Support::no(
        "layers and models are measured from an empty cache; `run --decode` times steps");
  }
  if (p.model.model_dim < 1) return Support::no("the problem has no model_dim");
  const Support projections = all_support(kProjections, p, device);
  return projections.supported ? supports_attention(p, device, dense) : projections;
}

Support supports_model(const Problem& p, const Device& device, bool dense) {
  if (p.model.layers < 1 || p.model.vocab_size < 2) {
    return Support::no("the problem has no layers and vocab_size");
  }
  return supports_layer(p, device, dense);
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
  const std::int64_t row =
      p.q_heads * (p.head_dim_k + p.head_dim_v) + 3 * p.kv_heads * (p.head_dim_k + p.head_dim_v);
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
  std::int64_t hungriest = 0;
  for (const Variant& row : catalog()) {
    const bool composite = row.stages.front() >= Stage::attention;
    if (composite || row.backend != backend || !row.workspace_bytes) continue;
    hungriest = std::max(hungriest, row.workspace_bytes(p));
  }
  return between_attention(p, backend) + hungriest;
}

std::int64_t layer_workspace(const Problem& p, Backend backend) {
  return attention_workspace(p, backend) + between_layer(p);
}

std::int64_t model_workspace(const Problem& p, Backend backend) {
  return layer_workspace(p, backend) + between_model(p, backend);
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

}  // namespace nsa
