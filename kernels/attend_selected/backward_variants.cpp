// Rows of attend_selected, backward: the gradients of q, k_sel and v_sel.
#include <array>

#include "attend_selected/cpu/backward/variants.hpp"
#include "attend_selected/cuda/fused_block_backward/plan.hpp"
#include "attend_selected/cuda/masked_backward/plan.hpp"
#include "attend_selected/variants.hpp"
#include "cuda/backward/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "launches/attend_selected.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_selected {
namespace {

constexpr std::string_view kMaskedBackwardKernels[] = {"nsa::cuda::masked_key_gradients_",
                                                       "nsa::cuda::masked_query_gradient_"};
constexpr std::string_view kMaskedBackwardHelpers[] = {"::row_stats_", "::sum_masked_keys_kernel<"};
constexpr std::string_view kGatherBackwardKernels[] = {"nsa::cuda::gather_gradients_"};
constexpr std::string_view kGatherBackwardHelpers[] = {"::row_stats_", "::put_keys_kernel<"};

constexpr std::array kCpuBackwardRows{
    kStage.cpu_backward(
        {.name = "fused_block",
         .ignores = kRanges,
         .summary =
             "A block of keys meets the queries that chose it, a tile of them at a time: all "
             "three gradients in one pass; takes blocks.",
         .workspace_bytes = cpu::selected_backward_fused_block_bytes,
         .launch = cpu::selected_backward_fused_block,
         .source_hash = source_hash::attend_selected_backward_fused_block,
         .rank = 0}),
    kStage.cpu_backward(
        {.name = "fused_query",
         .ignores = kRanges,
         .summary = "Two passes: the gradient of a query by a walk over its blocks, those of keys "
                    "and values by the lists of queries that chose a block; takes blocks.",
         .workspace_bytes = cpu::selected_backward_fused_query_bytes,
         .launch = cpu::selected_backward_fused_query,
         .source_hash = source_hash::attend_selected_backward_fused_query,
         .rank = 1}),
    quadratic(kStage.cpu_backward(
        {.name = "masked",
         .ignores = kBlocks,
         .summary = "Dense attention over all keys so far with a mask made from the ranges, "
                    "backward; O(S^2) work.",
         .workspace_bytes = cpu::selected_backward_masked_bytes,
         .launch = cpu::selected_backward_masked,
         .source_hash = source_hash::attend_selected_backward_masked,
         .rank = 2,
         .switch_target = SwitchTarget::masked})),
    kStage.cpu_backward({.name = "ranges",
                         .role = Role::slow_path,
                         .ignores = kBlocks,
                         .summary = "Host loop: the gradients of one row and group at a time, on "
                                    "one thread (the users' slow path).",
                         .workspace_bytes = cpu::selected_backward_ranges_bytes,
                         .launch = cpu::selected_backward_ranges,
                         .source_hash = source_hash::attend_selected_backward_ranges,
                         .switch_target = SwitchTarget::row_loop}),
};

template <bool kAtomic>
std::int64_t block_backward_bytes(const Problem& p) {
  return cuda::SelectedBackwardPlan(p, kAtomic).bytes();
}
Support supports_block_backward(const Problem& p, const Device& device) noexcept {
  if (p.geometry.sel_count >= cuda::kMostPicks)
    return Support::no("2,048 blocks of a query do not fit its lists");
  return cuda::supports_backward(p, device);
}

std::int64_t masked_backward_bytes(const Problem& p) { return cuda::MaskedBackwardPlan(p).bytes(); }
/// Row statistics, and fp32 sums of the gradients of K and V.
std::int64_t gather_backward_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;  // of each of two tensors
  return 8 * p.total_tokens() * p.q_heads +
         4 * p.total_context() * p.kv_heads * cuda::backward_tile(p).width() + 2 * kAlignment;
}
Support supports_gather_backward(const Problem& p, const Device& device) noexcept {
  const Support sizes = cuda::supports_backward(p, device);
  if (!sizes.supported) return sizes;
  // Its own tiles are smaller than those of the band, but hold the ranges of a row.
  return cuda::fits_shared_memory(cuda::backward_tile(p).shared_bytes + 8 * p.geometry.sel_count,
                                  device);
}

std::array<Variant, 5> cuda_backward_rows() {
  const KernelNames kernels{.own = cuda::kBackwardKernels, .helpers = cuda::kBackwardHelpers};
  return {
      kStage.cuda_backward(
          {.name = "fused_block",
           .ignores = kRanges,
           .summary =
               "A block of keys stays and the queries that picked it pass by: one set of logits "
               "for all gradients; a query's are written for each pick and added up in order.",
           .supports = supports_block_backward,
           .workspace_bytes = block_backward_bytes<false>,
           .launch = kCudaFusedBlockBackward,
           .source_hash = source_hash::attend_selected_cuda_fused_block_backward,
           .rank = 0,
           .kernels = kernels,
           .folds_gates = true}),
      // In the folder of fused_block: its launch, which is told where a query's gradient goes.
      kStage.cuda_backward(
          {.name = "fused_block_atomic",
           .ignores = kRanges,
           .summary = "As fused_block, but the gradients of queries are added up in fp32 by "
                      "atomic operations, whose order varies.",
           .supports = supports_block_backward,
           .workspace_bytes = block_backward_bytes<true>,
           .launch = kCudaAtomicBackward,
           .source_hash = source_hash::attend_selected_cuda_fused_block_backward,
           .rank = 1,
           .kernels = kernels,
           .deterministic = false,
           .folds_gates = true}),
      quadratic(kStage.cuda_backward(
          {.name = "masked",
           .ignores = kRanges,
           .summary = "Dense attention up to the query with a mask made from the blocks, backward: "
                      "O(S^2), gradients of K and V by tiles of keys, of q by tiles of queries.",
           .supports = cuda::supports_backward,
           .workspace_bytes = masked_backward_bytes,
           .launch = kCudaMaskedBackward,
           .source_hash = source_hash::attend_selected_cuda_masked_backward,
           .rank = 2,
           .kernels = {.own = kMaskedBackwardKernels, .helpers = kMaskedBackwardHelpers},
           .switch_target = SwitchTarget::masked,
           .folds_gates = true})),
      kStage.cuda_backward(
          {.name = "gather",
           .ignores = kBlocks,
           .summary = "A thread block per query and KV head walks the selected keys; their "
                      "gradients are added up in fp32 by atomic operations, whose order varies.",
           .supports = supports_gather_backward,
           .workspace_bytes = gather_backward_bytes,
           .launch = kCudaGatherBackward,
           .source_hash = source_hash::attend_selected_cuda_gather_backward,
           .rank = 3,
           .kernels = {.own = kGatherBackwardKernels, .helpers = kGatherBackwardHelpers},
           .switch_target = SwitchTarget::gather,
           .deterministic = false,
           .folds_gates = true}),
      kStage.cuda_backward(
          {.name = "ranges",
           .role = Role::slow_path,
           .ignores = kBlocks,
           .summary = "gather with a wait for the ranges and a launch per query and KV head, as a "
                      "row loop does: the slow path to guard against.",
           .supports = supports_gather_backward,
           .workspace_bytes = gather_backward_bytes,
           .launch = kCudaRangesBackward,
           .source_hash = source_hash::attend_selected_cuda_ranges_backward,
           .kernels = {.own = kGatherBackwardKernels, .helpers = kGatherBackwardHelpers},
           .waits_for_host = true,
           .switch_target = SwitchTarget::row_loop,
           .folds_gates = true})};
}

}  // namespace

std::vector<Variant> backward_rows() { return rows_of(kCpuBackwardRows, cuda_backward_rows()); }

}  // namespace nsa::attend_selected
