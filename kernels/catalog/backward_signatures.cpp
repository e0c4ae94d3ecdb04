// Tensors of every stage's backward pass. The gradient of tensor `x` is `d_x`, of its shape.
#include <array>

#include "catalog/tensor_specs.hpp"

namespace nsa {
namespace {

constexpr TensorSpec gradient(std::string_view name, const TensorSpec& of) {
  return {name, of.shape};
}

constexpr TensorSpec kDX = gradient("d_x", kX), kDQ = gradient("d_q", kQ);
constexpr TensorSpec kDY = gradient("d_y", kY);
constexpr TensorSpec kDOCmp = gradient("d_o_cmp", kO), kDOSel = gradient("d_o_sel", kO),
                     kDOWin = gradient("d_o_win", kO);
constexpr TensorSpec kDKCmp = gradient("d_k_cmp", kKCmp), kDVCmp = gradient("d_v_cmp", kVCmp);
constexpr TensorSpec kDKCmpRaw = gradient("d_k_cmp_raw", kKCmpRaw),
                     kDVCmpRaw = gradient("d_v_cmp_raw", kVCmpRaw);
constexpr TensorSpec kDKSel = gradient("d_k_sel", kKSel), kDVSel = gradient("d_v_sel", kVSel);
constexpr TensorSpec kDKWin = gradient("d_k_win", kKWin), kDVWin = gradient("d_v_win", kVWin);
constexpr TensorSpec kDFc1W = gradient("d_fc1_w", kFc1W), kDFc1B = gradient("d_fc1_b", kFc1B);
constexpr TensorSpec kDFc2W = gradient("d_fc2_w", kFc2W), kDFc2B = gradient("d_fc2_b", kFc2B);
constexpr TensorSpec kDWQkv = gradient("d_w_qkv", kWQkv), kDWO = gradient("d_w_o", kWO);

// Of the new tokens only, as project_rope's outputs are.
constexpr std::array kProjectIn{kX,
                                kWQkv,
                                kDQ,
                                TensorSpec{"d_k_cmp_raw", kNewK},
                                TensorSpec{"d_v_cmp_raw", kNewV},
                                TensorSpec{"d_k_sel", kNewK},
                                TensorSpec{"d_v_sel", kNewV},
                                TensorSpec{"d_k_win", kNewK},
                                TensorSpec{"d_v_win", kNewV}};
constexpr std::array kProjectOut{kDX, kDWQkv};
constexpr std::array kCompressIn{kDKCmp, kDVCmp};
constexpr std::array kCompressOut{kDKCmpRaw, kDVCmpRaw};
constexpr std::array kCompressedIn{kQ, kKCmp, kVCmp, kOCmp, kDOCmp};
constexpr std::array kCompressedOut{kDQ, kDKCmp, kDVCmp};
constexpr std::array kSelectedIn{kQ, kKSel, kVSel, kBlocks, kRanges, kOSel, kDOSel};
constexpr std::array kSelectedOut{kDQ, kDKSel, kDVSel};
constexpr std::array kWindowIn{kQ, kKWin, kVWin, kOWin, kDOWin};
constexpr std::array kWindowOut{kDQ, kDKWin, kDVWin};
constexpr std::array kGateIn{kQ, kOCmp, kOSel, kOWin, kFc1W, kFc1B, kFc2W, kFc2B, kDO};
constexpr std::array kGateOut{kDQ, kDOCmp, kDOSel, kDOWin, kDFc1W, kDFc1B, kDFc2W, kDFc2B};
constexpr std::array kOutProjIn{kO, kWO, kDY};
constexpr std::array kOutProjOut{kDO, kDWO};
constexpr std::array kAttentionIn{kQ,    kKCmpRaw, kVCmpRaw, kKSel, kVSel, kKWin,
                                  kVWin, kFc1W,    kFc1B,    kFc2W, kFc2B, kDO};
constexpr std::array kAttentionOut{kO,     kBlocks, kDQ,    kDKCmpRaw, kDVCmpRaw, kDKSel, kDVSel,
                                   kDKWin, kDVWin,  kDFc1W, kDFc1B,    kDFc2W,    kDFc2B};

constexpr std::array kModelIn{kTokens, TensorSpec{"targets", kTokens.shape, true}, kWeights};
constexpr std::array kModelOut{gradient("d_weights", kWeights)};
constexpr std::array kLayerIn{kX, kWQkv, kFc1W, kFc1B, kFc2W, kFc2B, kWO, kDY};
constexpr std::array kLayerOut{kY, kBlocks, kDX, kDWQkv, kDFc1W, kDFc1B, kDFc2W, kDFc2B, kDWO};

}  // namespace

Signature backward_signature_of(Stage stage) {
  switch (stage) {
    case Stage::project_rope:
      return {kProjectIn, kProjectOut};
    case Stage::compress:
      return {kCompressIn, kCompressOut};
    case Stage::attend_compressed:
      return {kCompressedIn, kCompressedOut};
    case Stage::attend_selected:
      return {kSelectedIn, kSelectedOut};
    case Stage::attend_window:
      return {kWindowIn, kWindowOut};
    case Stage::gate_combine:
      return {kGateIn, kGateOut};
    case Stage::out_proj:
      return {kOutProjIn, kOutProjOut};
    case Stage::score:   // which blocks are chosen has no gradient
    case Stage::ranges:  // likewise
    case Stage::attention:
    case Stage::layer:
    case Stage::model:
      return {};
  }
  throw ContractError("expected: a stage");
}

Signature both_passes_signature_of(Stage stage) {
  if (stage == Stage::attention) return {kAttentionIn, kAttentionOut};
  if (stage == Stage::layer) return {kLayerIn, kLayerOut};
  if (stage == Stage::model) return {kModelIn, kModelOut};
  return {};
}

}  // namespace nsa
