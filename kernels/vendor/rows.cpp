#include "vendor/rows.hpp"

#include "catalog/rows.hpp"
#include "source_hashes.hpp"
#include "vendor/launch.hpp"
#include "vendor/support.hpp"

namespace nsa::vendor {
namespace {

constexpr unsigned kHalfDtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);

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
  row.source_hash = source_hash::vendor_sdpa;
  return row;
}

Variant fa2_row(const Variant& common, std::string_view name, std::string_view what,
                LaunchFunction launch) {
  Variant row = common;
  row.name = name;
  row.dtypes = kHalfDtypes;
  row.what = what;
  row.supports = supports_fa2;
  row.workspace_bytes = fa2_bytes;
  row.launch = launch;
  row.source_hash = source_hash::vendor_fa2;
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
                         kFa2Dense.of(band)));
  rows.push_back(fa2_row(common, "fa2_varlen",
                         window
                             ? "FlashInfer's FlashAttention-2 over a ragged batch; it leaves out "
                               "the keys left of the window."
                             : "FlashInfer's FlashAttention-2 over a ragged batch; keys that are "
                               "not visible yet are masked, not left out.",
                         kFa2Varlen.of(band)));
  rows.push_back(math_row(common, band));
  return rows;
}

}  // namespace nsa::vendor
