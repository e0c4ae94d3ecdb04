#include "vendor/rows.hpp"

#include <algorithm>
#include <array>

#include "catalog/rows.hpp"
#include "cuda/gemm/rows.hpp"
#include "source_hashes.hpp"
#include "vendor/cudnn_sdpa.hpp"
#include "vendor/launch.hpp"
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

/// Products of cuBLASLt, and kernels of ours around them.
constexpr std::array kMathHelpers = [] {
  std::array<std::string_view, cuda::kProductKernels.size() + 1> names{};
  std::ranges::copy(cuda::kProductKernels, names.begin());
  names.back() = kOurs[0];
  return names;
}();

Variant sdpa_row(const Variant& common) {
  Variant row = common;
  row.name = "sdpa";
  row.dtypes = kHalfDtypes;
  row.what =
      "cuDNN's fused attention with a left bound; a plan per shape, of the keys that are in "
      "the window of some query.";
  row.supports = supports_sdpa;
  row.workspace_bytes = sdpa_bytes;
  row.launch = kSdpa.window;
  row.rank = 1;
  row.kernels = {.own = kSdpaKernels, .helpers = kCudnn};
  row.switch_target = SwitchTarget::sdpa;
  row.library = Library::cudnn;
  row.missing = sdpa_missing;
  row.source_hash = source_hash::vendor_sdpa;
  return row;
}

Variant fa2_row(const Variant& common, std::string_view name, std::string_view what,
                LaunchFunction launch, bool ragged) {
  Variant row = common;
  row.name = name;
  row.dtypes = kHalfDtypes;
  row.what = what;
  row.supports = supports_fa2;
  row.workspace_bytes = fa2_bytes;
  row.launch = launch;
  row.source_hash = source_hash::vendor_fa2;
  row.rank = ragged ? 2 : 3;
  row.kernels = {.own = ragged ? kRaggedPrefill : kSinglePrefill, .helpers = kOurs};
  row.switch_target = ragged ? SwitchTarget::fa2_varlen : SwitchTarget::fa2_dense;
  row.library = Library::flashinfer;
  return row;
}

Variant math_row(const Variant& common, Band band) {
  const bool window = band == Band::window;
  Variant row = common;
  row.name = "sdpa_math";
  row.dtypes = kDeviceDtypes;
  row.what =
      "cuBLASLt product, softmax, cuBLASLt product over a tile of queries and the keys that "
      "any of them sees.";
  row.supports = window ? supports_math<Band::window> : supports_math<Band::compressed>;
  row.workspace_bytes = window ? math_bytes<Band::window> : math_bytes<Band::compressed>;
  row.launch = kMath.of(band);
  row.source_hash = source_hash::vendor_math;
  row.rank = 4;
  row.kernels = {.own = kSoftmax, .helpers = kMathHelpers};
  row.missing = cuda::gemm_missing;
  return row;
}

}  // namespace

std::vector<Variant> branch_rows(Band band, std::span<const Stage> stages,
                                 Cost (*cost)(const Problem&)) {
  const bool window = band == Band::window;
  const Variant common{
      .stages = stages, .backend = Backend::cuda, .min_compute_capability = 80, .cost = cost};
  std::vector<Variant> rows;
  if (window) rows.push_back(sdpa_row(common));
  rows.push_back(fa2_row(common, "fa2_dense",
                         window ? "FlashInfer's FlashAttention-2, a launch per sequence; it reads "
                                  "the keys left of the window too."
                                : "FlashInfer's FlashAttention-2, a launch per sequence; keys that "
                                  "are not visible yet are masked, not left out.",
                         kFa2Dense.of(band), false));
  rows.back().order = kQuadratic;  // of the window too
  rows.push_back(fa2_row(common, "fa2_varlen",
                         window
                             ? "FlashInfer's FlashAttention-2 over a ragged batch; it leaves out "
                               "the keys left of the window."
                             : "FlashInfer's FlashAttention-2 over a ragged batch; keys that are "
                               "not visible yet are masked, not left out.",
                         kFa2Varlen.of(band), true));
  rows.push_back(math_row(common, band));
  return rows;
}

}  // namespace nsa::vendor
