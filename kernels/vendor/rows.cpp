#include "vendor/rows.hpp"

#include <algorithm>
#include <array>

#include "cuda/gemm/rows.hpp"
#include "launches/vendor.hpp"
#include "nsa/kernels/dense_by_cudnn.hpp"
#include "source_hashes.hpp"
#include "vendor/cudnn/backward.hpp"
#include "vendor/support.hpp"

namespace nsa::vendor {
namespace {

constexpr unsigned kHalfDtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);

using Names = std::string_view;
constexpr std::array kOurs{Names{"nsa::vendor::"}};
constexpr std::array kSdpaKernels{Names{"cudnn_generated_fort_native_sdpa"}};
constexpr std::array kCudnn{Names{"cudnn"}};
constexpr std::array kSinglePrefill{Names{"flashinfer::SinglePrefillWithKVCacheKernel"}};
constexpr std::array kRaggedPrefill{Names{"flashinfer::BatchPrefillWithRaggedKVCacheKernel"}};
constexpr std::array kSoftmax{Names{"nsa::vendor::(anonymous namespace)::softmax_kernel"}};

constexpr std::array kDSoftmax{Names{"nsa::vendor::(anonymous namespace)::d_softmax_kernel"}};

/// Products of cuBLASLt, and kernels of ours around them.
constexpr std::array kMathHelpers = [] {
  std::array<std::string_view, cuda::kProductKernels.size() + 2> names{};
  std::ranges::copy(cuda::kProductKernels, names.begin());
  names[names.size() - 2] = kOurs[0];
  names.back() = "::put_keys_kernel<";
  return names;
}();

Variant sdpa_row() {
  return {.name = "sdpa",
          .dtypes = kHalfDtypes,
          .summary =
              "cuDNN's fused attention with a left bound; a plan per shape, of the keys that "
              "are in the window of some query.",
          .supports = supports_sdpa,
          .workspace_bytes = sdpa_bytes,
          .launch = kSdpa,
          .source_hash = source_hash::vendor_sdpa,
          .rank = 1,
          .kernels = {.own = kSdpaKernels, .helpers = kCudnn},
          .switch_target = SwitchTarget::sdpa,
          .library = Library::cudnn,
          .missing = sdpa_missing};
}

Variant fa2_dense_row(bool window) {
  return {.name = "fa2_dense",
          .dtypes = kHalfDtypes,
          .summary = window ? "FlashInfer's FlashAttention-2, a launch per sequence; it reads the "
                              "keys left of the window too."
                            : "FlashInfer's FlashAttention-2, a launch per sequence; keys that are "
                              "not visible yet are masked, not left out.",
          .supports = supports_fa2,
          .workspace_bytes = fa2_bytes,
          .launch = window ? kFa2DenseWindow : kFa2DenseCompressed,
          .source_hash = source_hash::vendor_fa2,
          .rank = 3,
          .kernels = {.own = kSinglePrefill, .helpers = kOurs},
          .switch_target = SwitchTarget::fa2_dense,
          .library = Library::flashinfer,
          .order = kQuadratic};  // of the window too
}

Variant fa2_varlen_row(bool window) {
  return {.name = "fa2_varlen",
          .dtypes = kHalfDtypes,
          .summary = window
                         ? "FlashInfer's FlashAttention-2 over a ragged batch; it leaves out the "
                           "keys left of the window."
                         : "FlashInfer's FlashAttention-2 over a ragged batch; keys that are not "
                           "visible yet are masked, not left out.",
          .supports = supports_fa2,
          .workspace_bytes = fa2_bytes,
          .launch = window ? kFa2VarlenWindow : kFa2VarlenCompressed,
          .source_hash = source_hash::vendor_fa2,
          .rank = 2,
          .kernels = {.own = kRaggedPrefill, .helpers = kOurs},
          .switch_target = SwitchTarget::fa2_varlen,
          .library = Library::flashinfer};
}

Variant math_row(bool window) {
  return {.name = "sdpa_math",
          .summary =
              "cuBLASLt product, softmax, cuBLASLt product over a tile of queries and the keys "
              "that any of them sees.",
          .supports = window ? supports_math<Band::window> : supports_math<Band::compressed>,
          .workspace_bytes = window ? math_bytes<Band::window> : math_bytes<Band::compressed>,
          .launch = window ? kMathWindow : kMathCompressed,
          .source_hash = source_hash::vendor_math,
          .rank = 4,
          .kernels = {.own = kSoftmax, .helpers = kMathHelpers},
          .missing = cuda::gemm_missing};
}

Variant sdpa_backward_row() {
  return {.name = "sdpa",
          .dtypes = kHalfDtypes,
          .summary =
              "cuDNN's backward pass with a left bound; gradients of queries are added up in "
              "an order that varies.",
          .supports = supports_sdpa_backward<false>,
          .workspace_bytes = sdpa_backward_bytes<false>,
          .launch = kSdpaBackward,
          .source_hash = source_hash::vendor_sdpa_backward,
          .rank = 1,
          .kernels = {.own = kCudnn, .helpers = kOurs},
          .switch_target = SwitchTarget::sdpa,
          .library = Library::cudnn,
          .missing = sdpa_backward_missing,
          .deterministic = false};
}

Variant sdpa_ordered_row() {
  Variant row = sdpa_backward_row();
  row.name = "sdpa_ordered";
  row.summary =
      "As sdpa by cuDNN's deterministic algorithm, which keeps the gradients of all "
      "weights in memory.";
  row.supports = supports_sdpa_backward<true>;
  row.workspace_bytes = sdpa_backward_bytes<true>;
  row.launch = kSdpaOrderedBackward;
  row.rank = 2;
  row.switch_target = SwitchTarget::none;
  row.deterministic = true;
  row.order = kQuadratic;
  return row;
}

Variant math_backward_row() {
  return {.name = "sdpa_math",
          .summary =
              "cuBLASLt products and softmax over a tile of queries and the keys that any of "
              "them sees, backward; gradients of K and V are added up in fp32.",
          .supports = supports_math_backward,
          .workspace_bytes = math_backward_bytes,
          .launch = kMathWindowBackward,
          .source_hash = source_hash::vendor_math_backward,
          .rank = 4,
          .kernels = {.own = kDSoftmax, .helpers = kMathHelpers},
          .missing = cuda::gemm_missing};
}

}  // namespace

std::array<Variant, 3> window_backward_rows(const StageRows& stage) {
  return {stage.cuda_backward(sdpa_backward_row()), stage.cuda_backward(sdpa_ordered_row()),
          stage.cuda_backward(math_backward_row())};
}

std::vector<Variant> branch_rows(Band band, const StageRows& stage) {
  const bool window = band == Band::window;
  std::vector<Variant> rows;
  if (window) rows.push_back(stage.cuda(sdpa_row()));
  rows.push_back(stage.cuda(fa2_dense_row(window)));
  rows.push_back(stage.cuda(fa2_varlen_row(window)));
  rows.push_back(stage.cuda(math_row(window)));
  return rows;
}

}  // namespace nsa::vendor

namespace nsa {

ApiOverrides dense_by_cudnn(bool deterministic) {
  // Dense attention is the window's rows with a window back to the first token.
  const auto wish = [](const Variant& row) {
    return std::pair{
        Stage::attend_window,
        VariantId{{std::string(to_string(Stage::attend_window))}, std::string(row.name), {}}};
  };
  return {
      .variants = {wish(vendor::sdpa_row())},
      .backward = {wish(deterministic ? vendor::sdpa_ordered_row() : vendor::sdpa_backward_row())}};
}

}  // namespace nsa
