#include "attend_selected/cuda_rows.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "attend_selected/cuda_block_plan.hpp"
#include "attend_selected/cuda_fused_query.hpp"
#include "attend_selected/cuda_launch.hpp"
#include "attend_selected/cuda_pack_sizes.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "cuda/flash/tile_sizes.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_selected {
namespace {

constexpr std::array kStage{Stage::attend_selected};
constexpr std::array kBlocks{std::string_view("blocks")};
constexpr std::array kRanges{std::string_view("ranges")};
constexpr std::array kQueryTiles{cuda::kSmallQueryTile, cuda::kLargeQueryTile};
constexpr std::array kQueryCoordinates{Coordinate{"t", kQueryTiles}};
constexpr std::array kBlockCoordinates{Coordinate{"c", cuda::kQueryChunks}};
constexpr std::array kPackedCoordinates{Coordinate{cuda::kReserveRows, cuda::kRowReserves}};
constexpr std::array kVarlenCoordinates{Coordinate{cuda::kReserveKeys, cuda::kKeyReserves}};
constexpr std::int64_t kMaxHeadDim = 256, kMaxGroup = 16;

using Name = std::string_view;
constexpr std::array kMaskedKernels{Name{"nsa::cuda::masked_kernel<"}};
constexpr std::array kRowLoopKernels{Name{"::packed_row_kernel<"}};
constexpr std::array kGatherKernels{Name{"nsa::cuda::RangesRow"}};
constexpr std::array kPackKernels{Name{"PackedRow"}, Name{"ListedRow"}, Name{"::pack_kernel<"}};
constexpr std::array kQueryKernels{Name{"fused_query_sm90_kernel<"}, Name{"nsa::cuda::BlocksRow"}};
constexpr std::array kBlockKernels{Name{"nsa::cuda::fused_block_kernel<"}};
constexpr std::array kPrefixKernels{Name{"::split_kernel"}};
constexpr std::array kExpandedKernels{Name{"::copy_kernel"}};
/// Copies of K and V per head: the same answer with more memory traffic.
constexpr int kLast = 100;

Support fits_sizes(const Problem& p) noexcept {
  if (p.head_dim_k > kMaxHeadDim || p.head_dim_v > kMaxHeadDim)
    return Support::no("head dims over 256 do not fit its tiles");
  if (p.heads_per_group() > kMaxGroup)
    return Support::no("more than 16 query heads per KV head do not fit its tile of 16 rows");
  if (p.total_tokens() * p.q_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  return Support::yes();
}

Support fits_shared_memory(std::int64_t bytes, const Device& device) noexcept {
  const std::int64_t room = cuda::shared_bytes_per_block(device.compute_capability.value_or(0));
  if (bytes <= room) return Support::yes();
  return Support::no("needs ", bytes, " bytes of shared memory a block, ", device.id, " has ",
                     room);
}

Support supports_masked(const Problem& p, const Device& device) noexcept {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? fits_shared_memory(cuda::masked_shared_bytes(p), device) : sizes;
}
Support supports_gather(const Problem& p, const Device& device) noexcept {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? fits_shared_memory(cuda::gather_shared_bytes(p), device) : sizes;
}
Support supports_ranges(const Problem& p, const Device&) noexcept { return fits_sizes(p); }
Support supports_dense_prefix(const Problem& p, const Device& device) noexcept {
  const Support band = cuda::supports_band(p, device);
  return band.supported ? supports_gather(p, device) : band;
}

Support supports_fused_block(const Problem& p, const Device& device) noexcept {
  const int capability = device.compute_capability.value_or(0);
  if (capability != 90)
    return Support::no("its warpgroup products exist on compute capability 9.0 only, ", device.id,
                       " has ", capability);
  if (p.head_dim_k != p.head_dim_v || (p.head_dim_k != 64 && p.head_dim_k != 128))
    return Support::no("built for head dims of 64 and of 128");
  if (p.geometry.sel_block != 64) return Support::no("built for sel_block 64");
  if (p.geometry.sel_count > cuda::kMaxBlockPicks)
    return Support::no("more than 32 blocks of a query do not fit a warp");
  if (p.batch() * num_blocks(p.max_kv_len(), p.geometry) > cuda::kMaxBlockTable)
    return Support::no("more than 16,384 blocks in a batch do not fit its counters");
  return supports_gather(p, device);
}

std::size_t index_of(std::span<const std::int64_t> values, std::int64_t value) noexcept {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}
std::size_t tile_point(const Problem& p) noexcept {
  return index_of(kQueryTiles, cuda::default_query_tile(p));
}
std::size_t chunk_point(const Problem& p) noexcept {
  return index_of(cuda::kQueryChunks, cuda::default_query_chunk(p));
}

std::int64_t ranges_workspace(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;  // of each of the two copies
  return cuda::row_key_bound(p) * cuda::packed_key_bytes(p) + 2 * kAlignment;
}
std::int64_t fused_block_workspace(const Problem& p) {
  std::int64_t most = 0;
  for (const std::int64_t chunk : cuda::kQueryChunks)
    most = std::max(most, cuda::BlockPlan(p, chunk).bytes());
  return most;
}
std::int64_t dense_prefix_workspace(const Problem& p) {
  return 2 * p.batch() * static_cast<std::int64_t>(sizeof(Sequence)) + 256;
}
std::int64_t expanded_bytes(const Problem& p) {
  return p.total_context() * p.q_heads * cuda::packed_key_bytes(p);
}
std::int64_t expanded_workspace(const Problem& p) { return expanded_bytes(p) + 2 * 256; }

/// What the copies cost beside the mathematics: written once and read once.
Cost expanded_cost(const Problem& p) {
  Cost cost = attend_selected_cost(p);
  cost.bytes += 2.0 * static_cast<double>(expanded_bytes(p));
  return cost;
}

/// A row that takes ranges and no workspace; others change what differs.
constexpr Variant row(std::string_view name, std::string_view what, LaunchFunction launch,
                      Support (*supports)(const Problem&, const Device&) noexcept,
                      std::string_view source_hash, std::span<const std::string_view> kernels,
                      int rank = kUnranked, SwitchTarget target = SwitchTarget::none) {
  return {.stages = kStage,
          .name = name,
          .backend = Backend::cuda,
          .role = Role::candidate,
          .min_compute_capability = 80,
          .dtypes = kDeviceDtypes,
          .ignores = kBlocks,
          .what = what,
          .supports = supports,
          .cost = attend_selected_cost,
          .workspace_bytes = no_workspace,
          .launch = launch,
          .source_hash = source_hash,
          .rank = rank,
          .kernels = {.own = kernels},
          .switch_target = target};
}

/// masked, with what is different about its relatives.
std::array<Variant, 3> masked_rows() {
  Variant masked = row("masked",
                       "Dense attention up to the query with a mask made from the ranges: "
                       "O(S^2), tensor cores for bf16 and fp16.",
                       kCudaMasked, supports_masked, source_hash::attend_selected_cuda_masked,
                       kMaskedKernels, 2, SwitchTarget::masked);
  masked.order = kQuadratic;
  Variant blocks = masked, expanded = masked;
  blocks.name = "masked_blocks";
  blocks.what = "masked, with the mask made from the blocks: needs no ranges.";
  blocks.launch = kCudaMaskedBlocks;
  blocks.ignores = kRanges;
  blocks.rank = kUnranked;
  expanded.name = "kv_expanded";
  expanded.what =
      "masked, with K and V copied for every query head instead of indexed by group; the copies "
      "are in its bytes.";
  expanded.launch = kCudaKvExpanded;
  expanded.rank = kLast;
  expanded.switch_target = SwitchTarget::none;
  expanded.kernels = {.own = kExpandedKernels};
  expanded.cost = expanded_cost;
  expanded.workspace_bytes = expanded_workspace;
  return {masked, blocks, expanded};
}

/// Rows whose host waits for the device at every launch.
std::array<Variant, 3> waiting_rows() {
  Variant ranges = row("ranges",
                       "A wait, copies and a launch per query and KV head, as in the users' "
                       "_sdpa_over_ranges: the slow path to guard against.",
                       kCudaRanges, supports_ranges, source_hash::attend_selected_cuda_ranges,
                       kRowLoopKernels, kUnranked, SwitchTarget::row_loop);
  ranges.workspace_bytes = ranges_workspace;
  Variant packed = row("packed",
                       "Lengths read back, rows of equal length in buckets, a copy and an "
                       "attention for each bucket; rn reserves for so many rows.",
                       kCudaPacked, supports_gather, source_hash::attend_selected_cuda_packed,
                       kPackKernels, 5, SwitchTarget::packed);
  packed.coordinates = kPackedCoordinates;
  packed.reserve = Reserve::sel_pack;
  packed.workspace_bytes = cuda::pack_workspace;
  Variant varlen = row("varlen_v1",
                       "A host loop that waits for each row's ranges and copies them run by run, "
                       "then one attention by where rows begin.",
                       kCudaVarlenV1, supports_gather, source_hash::attend_selected_cuda_packed,
                       kPackKernels, 6, SwitchTarget::varlen_v1);
  varlen.workspace_bytes = cuda::pack_workspace;
  varlen.reserve = Reserve::varlen;
  for (Variant* slow : {&ranges, &packed, &varlen}) {
    slow->role = Role::slow_path;
    slow->waits_for_host = true;
  }
  return {ranges, packed, varlen};
}

Variant varlen_row() {
  Variant varlen = row("varlen_v2",
                       "Rows listed and copied by kernels, a gigabyte at a time, then one "
                       "attention by where rows begin; never waits; rk reserves for so many keys.",
                       kCudaVarlenV2, supports_gather, source_hash::attend_selected_cuda_packed,
                       kPackKernels, 4, SwitchTarget::varlen_v2);
  varlen.coordinates = kVarlenCoordinates;
  varlen.reserve = Reserve::varlen;
  varlen.workspace_bytes = cuda::pack_workspace;
  return varlen;
}

/// Rows that take blocks and need no ranges.
std::array<Variant, 3> block_rows() {
  Variant query = row("fused_query",
                      "Up to t neighbouring queries walk the union of their blocks together, a "
                      "warp per one or two of them; takes blocks, needs no ranges.",
                      kCudaFusedQuery, supports_gather,
                      source_hash::attend_selected_cuda_fused_query, kQueryKernels, 0);
  query.coordinates = kQueryCoordinates;
  query.default_point = tile_point;
  Variant block = row("fused_block",
                      "A block of keys stays and the queries that picked it come to it, c queries "
                      "at a time; their partial results are joined with the blocks near them.",
                      kCudaFusedBlock, supports_fused_block,
                      source_hash::attend_selected_cuda_fused_block, kBlockKernels, 1);
  block.coordinates = kBlockCoordinates;
  block.default_point = chunk_point;
  block.min_compute_capability = 90;
  block.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
  block.workspace_bytes = fused_block_workspace;
  Variant prefix = row("dense_prefix",
                       "Dense causal attention for the queries that selected all before them, "
                       "fused_query behind them; takes blocks.",
                       kCudaDensePrefix, supports_dense_prefix,
                       source_hash::attend_selected_cuda_dense_prefix, kPrefixKernels, 7);
  prefix.workspace_bytes = dense_prefix_workspace;
  for (Variant* variant : {&query, &block, &prefix}) variant->ignores = kRanges;
  return {query, block, prefix};
}

std::array<Variant, 11> make_rows() {
  const auto [masked, masked_blocks, expanded] = masked_rows();
  const auto [ranges, packed, varlen_v1] = waiting_rows();
  const auto [query, block, prefix] = block_rows();
  const Variant gather =
      row("gather",
          "A block of threads per query and KV head walks the selected keys for all heads of the "
          "group, tensor cores for bf16 and fp16.",
          kCudaGather, supports_gather, source_hash::attend_selected_cuda_gather, kGatherKernels, 3,
          SwitchTarget::gather);
  return {masked,       masked_blocks, ranges, gather, packed,  varlen_v1,
          varlen_row(), query,         block,  prefix, expanded};
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows = make_rows();
  return kRows;
}

}  // namespace nsa::attend_selected
