// Rows of attend_selected: q, k_sel, v_sel, blocks or ranges -> o_sel.
#include <algorithm>
#include <array>
#include <vector>

#include "attend_selected/cpu/variants.hpp"
#include "attend_selected/cuda/fused_block/plan.hpp"
#include "attend_selected/cuda/fused_query/launch.hpp"
#include "attend_selected/cuda/packed_rows/plan.hpp"
#include "attend_selected/supports.hpp"
#include "attend_selected/variants.hpp"
#include "catalog/stages.hpp"
#include "cuda/flash/band_support.hpp"
#include "launches/attend_selected.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_selected {
namespace {

/// kv_expanded, with copies of K and V per head: the same answer with more memory traffic.
constexpr int kLast = 100;

constexpr std::int64_t kCpuQueryTiles[] = {1, 4};
constexpr Coordinate kCpuQueryTile[] = {{"bq", kCpuQueryTiles}};
constexpr std::array kQueryTiles{cuda::kSmallQueryTile, cuda::kLargeQueryTile};
constexpr Coordinate kQueryTile[] = {{"bq", kQueryTiles}};
constexpr Coordinate kChunk[] = {{"chunk", cuda::kQueryChunks}};
constexpr Coordinate kPackedReserve[] = {{cuda::kReserveRows, cuda::kRowReserves}};
constexpr Coordinate kVarlenReserve[] = {{cuda::kReserveKeys, cuda::kKeyReserves}};

constexpr std::string_view kMaskedKernels[] = {"nsa::cuda::masked_kernel<"};
constexpr std::string_view kExpandedKernels[] = {"::copy_kernel"};
constexpr std::string_view kRowLoopKernels[] = {"::packed_row_kernel<"};
constexpr std::string_view kGatherKernels[] = {"nsa::cuda::RangesRow"};
constexpr std::string_view kPackKernels[] = {"PackedRow", "ListedRow", "::pack_kernel<"};
constexpr std::string_view kQueryKernels[] = {"fused_query_sm90_kernel<", "nsa::cuda::BlocksRow"};
constexpr std::string_view kBlockKernels[] = {"nsa::cuda::fused_block_kernel<"};
constexpr std::string_view kPrefixKernels[] = {"::split_kernel"};

template <class Values>
std::size_t index_of(const Values& values, std::int64_t value) noexcept {
  return static_cast<std::size_t>(std::ranges::find(values, value) - std::ranges::begin(values));
}
std::size_t tile_point(const Problem& p) noexcept {
  return index_of(kQueryTiles, cuda::default_query_tile(p));
}
std::size_t chunk_point(const Problem& p) noexcept {
  return index_of(cuda::kQueryChunks, cuda::default_query_chunk(p));
}

/// Rows that take ranges, but for those at the end.
constexpr std::array kCpuRows{
    quadratic(kStage.cpu(
        {.name = "masked",
         .ignores = kBlocks,
         .summary =
             "Dense attention over all keys so far with a mask made from the ranges; O(S^2) work.",
         .workspace_bytes = cpu::selected_masked_bytes,
         .launch = cpu::selected_masked,
         .source_hash = source_hash::attend_selected_masked,
         .rank = 2,
         .switch_target = SwitchTarget::masked})),
    kStage.cpu({.name = "ranges",
                .role = Role::slow_path,
                .ignores = kBlocks,
                .summary = "Host loop: one small attention per row and group, on one thread (the "
                           "users' slow path).",
                .workspace_bytes = cpu::selected_ranges_bytes,
                .launch = cpu::selected_ranges,
                .source_hash = source_hash::attend_selected_ranges,
                .switch_target = SwitchTarget::row_loop}),
    kStage.cpu({.name = "gather",
                .ignores = kBlocks,
                .summary = "K and V of all rows copied and padded to the longest row, one masked "
                           "batched attention.",
                .workspace_bytes = cpu::packed_copies_bytes,
                .launch = cpu::selected_gather,
                .source_hash = source_hash::attend_selected_gather,
                .rank = 3,
                .switch_target = SwitchTarget::gather}),
    kStage.cpu(
        {.name = "packed",
         .ignores = kBlocks,
         .summary = "Rows put into buckets of equal length, one batched attention per bucket.",
         .workspace_bytes = cpu::packed_copies_bytes,
         .launch = cpu::selected_packed,
         .source_hash = source_hash::attend_selected_packed,
         .rank = 5,
         .reserve = Reserve::sel_pack,
         .switch_target = SwitchTarget::packed}),
    kStage.cpu({.name = "varlen_v1",
                .ignores = kBlocks,
                .summary =
                    "Keys packed row by row in a host loop over elements, then one attention "
                    "by cu_seqlens.",
                .workspace_bytes = cpu::selected_varlen_v1_bytes,
                .launch = cpu::selected_varlen_v1,
                .source_hash = source_hash::attend_selected_varlen,
                .rank = 6,
                .reserve = Reserve::varlen,
                .switch_target = SwitchTarget::varlen_v1}),
    // In the file of varlen_v1: one launch, which is told how to pack.
    kStage.cpu({.name = "varlen_v2",
                .ignores = kBlocks,
                .summary = "Keys packed in runs by all threads, then one attention by cu_seqlens.",
                .workspace_bytes = cpu::selected_varlen_v2_bytes,
                .launch = cpu::selected_varlen_v2,
                .source_hash = source_hash::attend_selected_varlen,
                .rank = 4,
                .reserve = Reserve::varlen,
                .switch_target = SwitchTarget::varlen_v2}),
    kStage.cpu({.name = "fused_query",
                .coordinates = kCpuQueryTile,
                .ignores = kRanges,
                .summary = "A tile of bq queries walks its blocks in place; takes blocks, needs no "
                           "ranges.",
                .workspace_bytes = cpu::selected_fused_query_bytes,
                .launch = cpu::selected_fused_query,
                .source_hash = source_hash::attend_selected_fused_query,
                .rank = 0}),
    kStage.cpu(
        {.name = "dense_prefix",
         .ignores = kRanges,
         .summary =
             "Dense causal attention while n l' covers all that is visible, fused_query after it.",
         .workspace_bytes = cpu::selected_dense_prefix_bytes,
         .launch = cpu::selected_dense_prefix,
         .source_hash = source_hash::attend_selected_dense_prefix,
         .rank = 7}),
    // In the file of `masked`: the same launch, each copy of K and V for one query head.
    quadratic(kStage.cpu(
        {.name = "kv_expanded",
         .ignores = kBlocks,
         .summary = "masked, with K and V copied for every query head instead of indexed by group.",
         .workspace_bytes = cpu::selected_kv_expanded_bytes,
         .launch = cpu::selected_kv_expanded,
         .source_hash = source_hash::attend_selected_masked,
         .rank = kLast})),
};

std::array<Variant, 12> cuda_rows() {
  return {
      quadratic(kStage.cuda({.name = "masked",
                             .ignores = kBlocks,
                             .summary = "Dense attention up to the query with a mask made from the "
                                        "ranges: O(S^2), tensor cores for bf16 and fp16.",
                             .supports = supports_masked,
                             .launch = kCudaMasked,
                             .source_hash = source_hash::attend_selected_cuda_masked,
                             .rank = 2,
                             .kernels = {.own = kMaskedKernels},
                             .switch_target = SwitchTarget::masked})),
      // In the folder of `masked`: its kernel with the other mask.
      quadratic(
          kStage.cuda({.name = "masked_blocks",
                       .ignores = kRanges,
                       .summary = "masked, with the mask made from the blocks: needs no ranges.",
                       .supports = supports_masked,
                       .launch = kCudaMaskedBlocks,
                       .source_hash = source_hash::attend_selected_cuda_masked,
                       .kernels = {.own = kMaskedKernels},
                       .switch_target = SwitchTarget::masked})),
      quadratic(kStage.cuda({.name = "masked_short",
                             .dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16),
                             .ignores = kBlocks,
                             .summary = "masked, with tiles of 16 rows instead of 64: more thread "
                                        "blocks where a sequence is too short to fill the GPU.",
                             .supports = supports_gather,
                             .launch = kCudaMaskedShort,
                             .source_hash = source_hash::attend_selected_cuda_masked_short,
                             .kernels = {.own = kMaskedKernels}})),
      kStage.cuda({.name = "ranges",
                   .role = Role::slow_path,
                   .ignores = kBlocks,
                   .summary = "A wait, copies and a launch per query and KV head, as in the users' "
                              "_sdpa_over_ranges: the slow path to guard against.",
                   .supports = supports_ranges,
                   .workspace_bytes = ranges_workspace,
                   .launch = kCudaRanges,
                   .source_hash = source_hash::attend_selected_cuda_ranges,
                   .kernels = {.own = kRowLoopKernels},
                   .waits_for_host = true,
                   .switch_target = SwitchTarget::row_loop}),
      kStage.cuda({.name = "gather",
                   .ignores = kBlocks,
                   .summary =
                       "A thread block per query and KV head walks the selected keys for all heads "
                       "of the group, tensor cores for bf16 and fp16.",
                   .supports = supports_gather,
                   .launch = kCudaGather,
                   .source_hash = source_hash::attend_selected_cuda_gather,
                   .rank = 3,
                   .kernels = {.own = kGatherKernels},
                   .switch_target = SwitchTarget::gather}),
      kStage.cuda({.name = "packed",
                   .role = Role::slow_path,
                   .coordinates = kPackedReserve,
                   .ignores = kBlocks,
                   .summary =
                       "Lengths read back, rows of equal length in buckets, a copy and an "
                       "attention for each bucket; reserve_rows makes room for so many rows.",
                   .supports = supports_gather,
                   .workspace_bytes = cuda::pack_workspace,
                   .launch = kCudaPacked,
                   .source_hash = source_hash::attend_selected_cuda_packed,
                   .rank = 5,
                   .kernels = {.own = kPackKernels},
                   .waits_for_host = true,
                   .reserve = Reserve::sel_pack,
                   .switch_target = SwitchTarget::packed}),
      kStage.cuda({.name = "varlen_v1",
                   .role = Role::slow_path,
                   .ignores = kBlocks,
                   .summary = "A host loop that waits for each row's ranges and copies them run by "
                              "run, then one attention by where rows begin.",
                   .supports = supports_gather,
                   .workspace_bytes = cuda::pack_workspace,
                   .launch = kCudaVarlenV1,
                   .source_hash = source_hash::attend_selected_cuda_varlen_v1,
                   .rank = 6,
                   .kernels = {.own = kPackKernels},
                   .waits_for_host = true,
                   .reserve = Reserve::varlen,
                   .switch_target = SwitchTarget::varlen_v1}),
      kStage.cuda({.name = "varlen_v2",
                   .coordinates = kVarlenReserve,
                   .ignores = kBlocks,
                   .summary =
                       "Rows listed and copied by kernels, a gigabyte at a time, then one "
                       "attention by where rows begin; never waits; reserve_keys makes room for "
                       "so many keys.",
                   .supports = supports_gather,
                   .workspace_bytes = cuda::pack_workspace,
                   .launch = kCudaVarlenV2,
                   .source_hash = source_hash::attend_selected_cuda_varlen_v2,
                   .rank = 4,
                   .kernels = {.own = kPackKernels},
                   .reserve = Reserve::varlen,
                   .switch_target = SwitchTarget::varlen_v2}),
      kStage.cuda({.name = "fused_query",
                   .coordinates = kQueryTile,
                   .ignores = kRanges,
                   .summary =
                       "Up to bq neighbouring queries walk the union of their blocks together, "
                       "a warp per one or two of them; takes blocks, needs no ranges.",
                   .supports = supports_gather,
                   .launch = kCudaFusedQuery,
                   .source_hash = source_hash::attend_selected_cuda_fused_query,
                   .default_point = tile_point,
                   .rank = 0,
                   .kernels = {.own = kQueryKernels}}),
      kStage.cuda({.name = "fused_block",
                   .min_compute_capability = 90,
                   .dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16),
                   .coordinates = kChunk,
                   .ignores = kRanges,
                   .summary =
                       "A block of keys stays and the queries that picked it come to it, chunk "
                       "queries at a time; their partial results are merged with the blocks "
                       "near them.",
                   .supports = supports_fused_block,
                   .workspace_bytes = fused_block_workspace,
                   .launch = kCudaFusedBlock,
                   .source_hash = source_hash::attend_selected_cuda_fused_block,
                   .default_point = chunk_point,
                   .rank = 1,
                   .kernels = {.own = kBlockKernels}}),
      kStage.cuda({.name = "dense_prefix",
                   .ignores = kRanges,
                   .summary =
                       "Dense causal attention for the queries that selected all before them, "
                       "fused_query after them; takes blocks.",
                   .supports = supports_dense_prefix,
                   .workspace_bytes = dense_prefix_workspace,
                   .launch = kCudaDensePrefix,
                   .source_hash = source_hash::attend_selected_cuda_dense_prefix,
                   .rank = 7,
                   .kernels = {.own = kPrefixKernels}}),
      quadratic(
          kStage.cuda({.name = "kv_expanded",
                       .ignores = kBlocks,
                       .summary = "masked, with K and V copied for every query head instead of "
                                  "indexed by group; the copies are in its bytes.",
                       .supports = supports_masked,
                       .cost = expanded_cost,
                       .workspace_bytes = expanded_workspace,
                       .launch = kCudaKvExpanded,
                       .source_hash = source_hash::attend_selected_cuda_kv_expanded,
                       .rank = kLast,
                       .kernels = {.own = kExpandedKernels}})),
  };
}

}  // namespace
}  // namespace nsa::attend_selected

namespace nsa {

std::span<const Variant> attend_selected_variants() {
  using namespace attend_selected;
  static const std::vector<Variant> kRows = rows_of(kCpuRows, cuda_rows(), backward_rows());
  return kRows;
}

}  // namespace nsa
