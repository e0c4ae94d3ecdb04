#include "nsa/kernels/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace nsa {
namespace {

using Names = std::vector<std::string_view>;

/// A row whose kernels are not all in its stage's namespace.
struct Claim {
  std::string_view rows;  // "stages/name"; a '*' at either end stands for anything
  Names own, helpers;
};

/// Products of cuBLASLt, which chooses among hundreds: its own, CUTLASS's, and those for vectors.
const Names& product_names() {
  static const Names kNames{"nvjet_", "cutlass", "cublas", "xmma_gemm",
                            "nsa::cuda::(anonymous namespace)::gemv_kernel"};
  return kNames;
}

const std::vector<Claim>& claims() {
  static const Names kVendor{"nsa::vendor::"};
  static const Names kMath = [] {
    Names names = product_names();
    names.emplace_back("nsa::vendor::");
    return names;
  }();
  static const std::vector<Claim> kClaims{
      {"project_rope/fused", {"nsa::project_rope::(anonymous namespace)::fused_kernel<"}, {}},
      {"project_rope/gemm*", {"nsa::project_rope::"}, product_names()},
      {"out_proj/gemm*", product_names(), {}},
      {"score/*", {"::logits_kernel<", "::block_scores_kernel<"}, {}},
      {"ranges/ranges_v1", {}, {}},  // copies and the host alone
      {"attend_compressed/fused", {"CompressedBand"}, {}},
      {"attend_compressed+score/fused", {"nsa::cuda::compressed::"}, {}},
      {"attend_window/fused", {"WindowBand"}, {}},
      {"*/fa2_dense", {"flashinfer::SinglePrefillWithKVCacheKernel"}, kVendor},
      {"*/fa2_varlen", {"flashinfer::BatchPrefillWithRaggedKVCacheKernel"}, kVendor},
      {"*/sdpa", {"cudnn_generated_fort_native_sdpa"}, {"cudnn"}},
      {"*/sdpa_math", {"nsa::vendor::(anonymous namespace)::softmax_kernel"}, kMath},
      {"attend_selected/masked*", {"nsa::cuda::masked_kernel<"}, {}},
      {"attend_selected/ranges", {"::packed_row_kernel<"}, {}},
      {"attend_selected/gather", {"nsa::cuda::RangesRow"}, {}},
      {"attend_selected/packed", {"PackedRow", "ListedRow", "::pack_kernel<"}, {}},
      {"attend_selected/varlen_v*", {"PackedRow", "ListedRow", "::pack_kernel<"}, {}},
      {"attend_selected/fused_query", {"fused_query_sm90_kernel<", "nsa::cuda::BlocksRow"}, {}},
      {"attend_selected/fused_block", {"nsa::cuda::fused_block_kernel<"}, {}},
      {"attend_selected/dense_prefix", {"::split_kernel"}, {}},
      {"attend_selected/kv_expanded", {"::copy_kernel"}, {}},
  };
  return kClaims;
}

/// "nsa::compress::" of a stage.
std::string_view namespace_of(Stage stage) {
  constexpr std::array<std::string_view, kStageCount> kNames{"nsa::project_rope::",
                                                             "nsa::compress::",
                                                             "nsa::score::",
                                                             "nsa::ranges::",
                                                             "nsa::attend_compressed::",
                                                             "nsa::attend_selected::",
                                                             "nsa::attend_window::",
                                                             "nsa::gate_combine::",
                                                             "nsa::out_proj::",
                                                             "nsa::",
                                                             "nsa::",
                                                             "nsa::"};
  return kNames[static_cast<std::size_t>(stage)];
}

bool fits(std::string_view pattern, std::string_view row) {
  if (pattern.starts_with('*')) return row.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return row.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == row;
}

/// "attend_compressed+score/fused"
std::string text_of(const Variant& variant) {
  std::string text;
  for (const Stage stage : variant.stages)
    text += (text.empty() ? "" : "+") + std::string(to_string(stage));
  return text + "/" + std::string(variant.name);
}

}  // namespace

ClaimedKernels claimed_kernels(const Variant& variant) {
  const std::string row = text_of(variant);
  ClaimedKernels claimed;
  claimed.helpers = {"nsa::cuda::"};
  for (const Claim& claim : claims()) {
    if (!fits(claim.rows, row)) continue;
    claimed.own = claim.own;
    claimed.helpers.insert(claimed.helpers.end(), claim.helpers.begin(), claim.helpers.end());
    return claimed;
  }
  for (const Stage stage : variant.stages) claimed.own.push_back(namespace_of(stage));
  return claimed;
}

bool waits_for_host(const Variant& variant) {
  constexpr std::array<std::string_view, 2> kWaiting{"ranges_v1", "packed"};
  return variant.role == Role::slow_path ||
         std::find(kWaiting.begin(), kWaiting.end(), variant.name) != kWaiting.end();
}

}  // namespace nsa
