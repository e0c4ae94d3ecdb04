// The selected branch on the CPU: rows of the one table.
#include <array>

#include "attend_selected/cuda_rows.hpp"
#include "attend_selected/variants.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_selected};
constexpr std::int64_t kQueryTiles[] = {1, 4};
constexpr Coordinate kQueryTile[] = {{"bq", kQueryTiles}};
constexpr std::string_view kBlocks[] = {"blocks"}, kRanges[] = {"ranges"};

constexpr Variant row(std::string_view name, Role role, std::string_view what,
                      std::int64_t (*bytes)(const Problem&), void (*launch)(const LaunchArgs&),
                      std::string_view hash, std::span<const std::string_view> ignores = kBlocks,
                      std::span<const Coordinate> coordinates = {}) {
  return {.stages = kStages,
          .name = name,
          .backend = Backend::cpu,
          .role = role,
          .min_compute_capability = 0,
          .dtypes = kAllDtypes,
          .coordinates = coordinates,
          .ignores = ignores,
          .what = what,
          .cost = attend_selected_cost,
          .workspace_bytes = bytes,
          .launch = launch,
          .source_hash = hash};
}

/// The row with its place in the built-in order, and what the users' switches call it.
constexpr Variant ranked(int rank, SwitchTarget target, Variant row,
                         Reserve reserve = Reserve::none) {
  row.rank = rank;
  row.switch_target = target;
  row.reserve = reserve;
  return row;
}
/// The row of a dense attention with a mask.
constexpr Variant quadratic(Variant row) {
  row.order = kQuadratic;
  return row;
}
/// Copies of K and V per head: the same answer with more memory traffic.
constexpr int kLast = 100;

constexpr std::array kVariants{
    ranked(
        2, SwitchTarget::masked,
        quadratic(row(
            "masked", Role::candidate,
            "Dense attention over all keys so far with a mask made from the ranges; O(S^2) work.",
            cpu::selected_masked_bytes, cpu::selected_masked,
            source_hash::attend_selected_masked))),
    ranked(
        kUnranked, SwitchTarget::row_loop,
        row("ranges", Role::slow_path,
            "Host loop: one small attention per row and group, on one thread (the users' slow "
            "path).",
            cpu::selected_ranges_bytes, cpu::selected_ranges, source_hash::attend_selected_ranges)),
    ranked(
        3, SwitchTarget::gather,
        row("gather", Role::candidate,
            "K and V of all rows copied and padded to the longest row, one masked batched "
            "attention.",
            cpu::selected_gather_bytes, cpu::selected_gather, source_hash::attend_selected_gather)),
    ranked(
        5, SwitchTarget::packed,
        row("packed", Role::candidate,
            "Rows put into buckets of equal length, one batched attention per bucket.",
            cpu::selected_packed_bytes, cpu::selected_packed, source_hash::attend_selected_packed),
        Reserve::sel_pack),
    ranked(6, SwitchTarget::varlen_v1,
           row("varlen_v1", Role::candidate,
               "Keys packed row by row in a host loop over elements, then one attention by "
               "cu_seqlens.",
               cpu::selected_varlen_v1_bytes, cpu::selected_varlen_v1,
               source_hash::attend_selected_varlen),
           Reserve::varlen),
    ranked(4, SwitchTarget::varlen_v2,
           row("varlen_v2", Role::candidate,
               "Keys packed in runs by all threads, then one attention by cu_seqlens.",
               cpu::selected_varlen_v2_bytes, cpu::selected_varlen_v2,
               source_hash::attend_selected_varlen),
           Reserve::varlen),
    ranked(0, SwitchTarget::none,
           row("fused_query", Role::candidate,
               "A tile of bq queries walks its blocks in place; takes blocks, needs no ranges.",
               cpu::selected_fused_query_bytes, cpu::selected_fused_query,
               source_hash::attend_selected_fused_query, kRanges, kQueryTile)),
    ranked(
        7, SwitchTarget::none,
        row("dense_prefix", Role::candidate,
            "Dense causal attention while n l' covers all that is visible, fused_query behind it.",
            cpu::selected_dense_prefix_bytes, cpu::selected_dense_prefix,
            source_hash::attend_selected_dense_prefix, kRanges)),
    ranked(kLast, SwitchTarget::none,
           quadratic(
               row("kv_expanded", Role::candidate,
                   "masked, with K and V copied for every query head instead of indexed by group.",
                   cpu::selected_kv_expanded_bytes, cpu::selected_kv_expanded,
                   source_hash::attend_selected_masked))),
};

}  // namespace

std::span<const Variant> attend_selected_variants() {
  static const std::vector<Variant> all = both_back_ends(kVariants, attend_selected::cuda_rows());
  return all;
}

}  // namespace nsa
