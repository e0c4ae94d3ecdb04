// Names and shapes of every stage's tensors: for inputs, checks, foreign workers and the docs.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "catalog/tensor_specs.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "nsa/kernels/runtime.hpp"

namespace nsa {
namespace {

constexpr std::array kProjectIn{kX, kWQkv};
constexpr std::array kProjectOut{kQ,
                                 TensorSpec{"k_cmp_raw", kNewK},
                                 TensorSpec{"v_cmp_raw", kNewV},
                                 TensorSpec{"k_sel", kNewK},
                                 TensorSpec{"v_sel", kNewV},
                                 TensorSpec{"k_win", kNewK},
                                 TensorSpec{"v_win", kNewV}};
constexpr std::array kCompressIn{kKCmpRaw, kVCmpRaw};
constexpr std::array kCompressOut{kKCmp, kVCmp};
constexpr std::array kScoreIn{kQ, kKCmp};
constexpr std::array kBlocksOnly{kBlocks};
constexpr std::array kRangesOnly{kRanges};
constexpr std::array kCompressedIn{kQ, kKCmp, kVCmp};
constexpr std::array kCompressedOut{kOCmp};
constexpr std::array kSelectedIn{kQ, kKSel, kVSel, kBlocks, kRanges};
constexpr std::array kSelectedOut{kOSel};
constexpr std::array kWindowIn{kQ, kKWin, kVWin};
constexpr std::array kWindowOut{kOWin};
constexpr std::array kGateIn{kQ, kOCmp, kOSel, kOWin, kFc1W, kFc1B, kFc2W, kFc2B};
constexpr std::array kOOnly{kO};
constexpr std::array kOutProjIn{kO, kWO};
constexpr std::array kYOnly{kY};
constexpr std::array kAttentionIn{kQ,    kKCmpRaw, kVCmpRaw, kKSel, kVSel, kKWin,
                                  kVWin, kFc1W,    kFc1B,    kFc2W, kFc2B};
// The blocks that were selected are an output too, so that a check can follow them where two scores
// tie within rounding.
constexpr std::array kAttentionOut{kO, kBlocks};
constexpr std::array kLayerOut{kY, kBlocks};
constexpr std::array kLayerIn{kX, kWQkv, kFc1W, kFc1B, kFc2W, kFc2B, kWO};
constexpr std::array kSavingCompressedOut{kOCmp, kLseCmp};
constexpr std::array kSavingSelectedOut{kOSel, kLseSel};
constexpr std::array kSavingWindowOut{kOWin, kLseWin};
constexpr std::array kSavingGateOut{kO, kGates};
constexpr std::array kModelIn{kTokens, kWeights};
constexpr std::array kModelOut{TensorSpec{"logits", "[tokens, vocab_size]"}};

/// Value of one word of a shape.
std::int64_t extent_of(std::string_view word, const Problem& p) {
  if (word == "tokens") return p.total_tokens();
  if (word == "context_tokens") return p.total_context();
  if (word == "compressed_tokens") {
    std::int64_t sum = 0;
    for (const Sequence& s : sequences_of(p)) sum += s.cmp_len;
    return sum;
  }
  if (word == "q_heads") return p.q_heads;
  if (word == "kv_heads") return p.kv_heads;
  if (word == "head_dim_k") return p.head_dim_k;
  if (word == "head_dim_v") return p.head_dim_v;
  if (word == "q_heads * head_dim_v") return p.q_heads * p.head_dim_v;
  if (word == "sel_count") return p.geometry.sel_count;
  if (word == "gate_hidden") return std::max<std::int64_t>(1, p.head_dim_k / 2);
  if (word == "qkv_rows") return qkv_rows(p);
  if (word == "parameters") return parameter_count(config_of(p));
  if (word == "model_dim") return p.model.model_dim;
  if (word == "vocab_size") return p.model.vocab_size;
  return std::stoll(std::string(word));
}

Dtype dtype_of(const TensorSpec& spec, const Problem& p) {
  if (spec.integer) return Dtype::int32;
  if (is_saved(spec.name)) return Dtype::fp32;
  // As a trainer keeps the gradients of all weights.
  if (spec.name == "d_weights" && p.dtype != Dtype::fp64) return Dtype::fp32;
  return p.dtype;
}

TensorShape shape_from_words(const TensorSpec& spec, const Problem& p) {
  TensorShape shape{dtype_of(spec, p), 0, {}};
  std::string_view words = spec.shape.substr(1, spec.shape.size() - 2);
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    shape.shape[static_cast<std::size_t>(shape.rank++)] = extent_of(words.substr(0, comma), p);
    words.remove_prefix(std::min(comma + 2, words.size()));
  }
  return shape;
}

/// What the stage writes and saves.
std::span<const TensorSpec> saving_outputs(Stage stage) {
  if (stage == Stage::attend_compressed) return kSavingCompressedOut;
  if (stage == Stage::attend_selected) return kSavingSelectedOut;
  if (stage == Stage::attend_window) return kSavingWindowOut;
  if (stage == Stage::gate_combine) return kSavingGateOut;
  return signature_of(stage).outputs;
}

}  // namespace

Signature signature_of(Stage stage, Direction direction) {
  if (direction == Direction::backward) return backward_signature_of(stage);
  if (direction == kForwardBackward) return both_passes_signature_of(stage);
  if (direction == kForwardSaving) return {signature_of(stage).inputs, saving_outputs(stage)};
  switch (stage) {
    case Stage::project_rope:
      return {kProjectIn, kProjectOut};
    case Stage::compress:
      return {kCompressIn, kCompressOut};
    case Stage::score:
      return {kScoreIn, kBlocksOnly};
    case Stage::ranges:
      return {kBlocksOnly, kRangesOnly};
    case Stage::attend_compressed:
      return {kCompressedIn, kCompressedOut};
    case Stage::attend_selected:
      return {kSelectedIn, kSelectedOut};
    case Stage::attend_window:
      return {kWindowIn, kWindowOut};
    case Stage::gate_combine:
      return {kGateIn, kOOnly};
    case Stage::out_proj:
      return {kOutProjIn, kYOnly};
    case Stage::attention:
      return {kAttentionIn, kAttentionOut};
    case Stage::layer:
      return {kLayerIn, kLayerOut};
    case Stage::model:
      return {kModelIn, kModelOut};
  }
  throw ContractError("expected: a stage");
}

namespace {

bool holds(std::span<const TensorSpec> specs, std::string_view name) {
  return std::any_of(specs.begin(), specs.end(),
                     [&](const TensorSpec& spec) { return spec.name == name; });
}

}  // namespace

MergedSignature signature_of(std::span<const Stage> stages, Direction direction) {
  MergedSignature merged;
  for (const Stage stage : stages) {
    const Signature own = signature_of(stage, direction);
    for (const TensorSpec& input : own.inputs) {
      if (!holds(merged.inputs, input.name) && !holds(merged.outputs, input.name))
        merged.inputs.push_back(input);
    }
    merged.outputs.insert(merged.outputs.end(), own.outputs.begin(), own.outputs.end());
  }
  return merged;
}

TensorShape shape_of(std::span<const Stage> stages, std::string_view tensor,
                     const Problem& problem) {
  for (const Stage stage : stages) {
    const Signature own = signature_of(stage, problem.direction);
    if (holds(own.inputs, tensor) || holds(own.outputs, tensor))
      return shape_of(stage, tensor, problem);
  }
  throw ContractError("expected: a tensor of the stages, not " + std::string(tensor));
}

TensorShape shape_of(Stage stage, std::string_view tensor, const Problem& problem) {
  const Signature signature = signature_of(stage, problem.direction);
  for (const auto& side : {signature.inputs, signature.outputs}) {
    for (const TensorSpec& spec : side) {
      if (spec.name == tensor) return shape_from_words(spec, problem);
    }
  }
  throw ContractError("expected: a tensor of stage " + std::string(to_string(stage)) + ", not " +
                      std::string(tensor));
}

}  // namespace nsa
