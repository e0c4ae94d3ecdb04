// Rows of compress: pooling of raw keys and values, k_cmp_raw, v_cmp_raw -> k_cmp, v_cmp.
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "compress/cpu/variants.hpp"
#include "launches/compress.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::compress};
constexpr StageRows kStage{kStages, compress_cost, compress_backward_cost};

}  // namespace

std::span<const Variant> compress_variants() {
  static const std::array kRows{
      kStage.cpu({.name = "avg",
                  .summary = "The mean of l rows of K and of V.",
                  .workspace_bytes = compress::avg_workspace,
                  .launch = compress::avg,
                  .source_hash = source_hash::compress_avg}),
      kStage.cuda(
          {.name = "avg",
           .summary = "The mean of l rows of K and of V, four lanes per 16 bytes of the result.",
           .launch = compress::kCudaAvg,
           .source_hash = source_hash::compress_cuda_avg}),
      kStage.cpu_backward({.name = "avg",
                           .summary = "Each token adds up its share of the blocks that hold it.",
                           .workspace_bytes = compress::backward_avg_workspace,
                           .launch = compress::backward_avg,
                           .source_hash = source_hash::compress_backward_avg}),
      kStage.cuda_backward(
          {.name = "avg",
           .summary = "Each token adds up its share of the blocks that hold it, a thread per 16 "
                      "bytes of it.",
           .launch = compress::kCudaAvgBackward,
           .source_hash = source_hash::compress_cuda_avg_backward}),
  };
  return kRows;
}

}  // namespace nsa
