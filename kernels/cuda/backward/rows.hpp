// What the stages that are attention to a band share: their backward row.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "cuda/backward/band/plan.hpp"

namespace nsa::cuda {

/// Of the gradients of K and V, and of the statistics before them; tiles of keys and of queries
/// have kernels with and without tensor cores.
inline constexpr std::array<std::string_view, 2> kBackwardKernels{"nsa::cuda::key_gradients_",
                                                                  "nsa::cuda::query_gradient_"};
inline constexpr std::array<std::string_view, 7> kBackwardHelpers{
    "::row_stats_",        "::sum_keys_kernel<",  "::sum_queries_kernel<", "::put_queries_kernel<",
    "::mark_picks_kernel", "::scan_lists_kernel", "::write_entries_kernel"};

/// `row` says what it is compiled from, launches and takes.
inline Variant band_backward_row(const StageRows& stage, Variant row) {
  row.name = "fused";
  row.summary =
      "Gradients of K and V by tiles of keys that their queries pass by, of q by tiles of queries; "
      "logits again from the log-sum-exp, tensor cores for bf16 and fp16.";
  row.supports = supports_backward;
  row.rank = 0;
  row.kernels = {.own = kBackwardKernels, .helpers = kBackwardHelpers};
  row.folds_gates = true;
  return stage.cuda_backward(row);
}

}  // namespace nsa::cuda
