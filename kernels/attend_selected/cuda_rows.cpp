#include "attend_selected/cuda_rows.hpp"

#include <array>
#include <string>

#include "attend_selected/cuda_launch.hpp"
#include "attend_selected/cuda_row_bound.hpp"
#include "attend_selected/cuda_shared_memory.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_selected {
namespace {

constexpr std::array kStage{Stage::attend_selected};
constexpr std::array kIgnores{std::string_view("blocks")};
constexpr std::array kIgnoresRanges{std::string_view("ranges")};
constexpr std::array<std::int64_t, 2> kQueryTiles{14, 30};  // see cuda_fused_query.hpp
constexpr std::array kQueryCoordinates{Coordinate{"t", kQueryTiles}};
constexpr unsigned kDtypes =
    dtype_bit(Dtype::fp32) | dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
constexpr std::int64_t kMaxHeadDim = 256, kMaxGroup = 16;

Support fits_sizes(const Problem& p) {
  if (p.head_dim_k > kMaxHeadDim || p.head_dim_v > kMaxHeadDim)
    return Support::no("head dims over 256 do not fit its tiles");
  if (p.heads_per_group() > kMaxGroup)
    return Support::no("more than 16 query heads per KV head do not fit its tile of 16 rows");
  if (p.total_tokens() * p.q_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  return Support::yes();
}

Support fits_shared_memory(std::int64_t bytes, const Device& device) {
  const std::int64_t room = cuda::shared_bytes_per_block(device.compute_capability.value_or(0));
  if (bytes <= room) return Support::yes();
  return Support::no("needs " + std::to_string(bytes) + " bytes of shared memory a block, " +
                     device.id + " has " + std::to_string(room));
}

Support supports_masked(const Problem& p, const Device& device) {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? fits_shared_memory(cuda::masked_shared_bytes(p), device) : sizes;
}
Support supports_gather(const Problem& p, const Device& device) {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? fits_shared_memory(cuda::gather_shared_bytes(p), device) : sizes;
}
Support supports_ranges(const Problem& p, const Device&) { return fits_sizes(p); }

std::int64_t ranges_workspace(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;  // of each of the two copies
  return cuda::row_key_bound(p) * (p.head_dim_k + p.head_dim_v) *
             static_cast<std::int64_t>(size_of(p.dtype)) +
         2 * kAlignment;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "masked",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDtypes,
              .ignores = kIgnores,
              .what = "Dense attention up to the query with a mask made from the ranges: O(S^2), "
                      "tensor cores for bf16 and fp16.",
              .supports = supports_masked,
              .cost = attend_selected_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaMasked,
              .source_hash = source_hash::attend_selected_cuda_masked},
      Variant{.stages = kStage,
              .name = "ranges",
              .backend = Backend::cuda,
              .role = Role::slow_path,
              .min_compute_capability = 80,
              .dtypes = kDtypes,
              .ignores = kIgnores,
              .what = "A wait, copies and a launch per query and KV head, as in the seeds' "
                      "_sdpa_over_ranges: the slow path to guard against.",
              .supports = supports_ranges,
              .cost = attend_selected_cost,
              .workspace_bytes = ranges_workspace,
              .launch = kCudaRanges,
              .source_hash = source_hash::attend_selected_cuda_ranges},
      Variant{.stages = kStage,
              .name = "gather",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDtypes,
              .ignores = kIgnores,
              .what = "A block of threads per query and KV head walks the selected keys for all "
                      "heads of the group, tensor cores for bf16 and fp16.",
              .supports = supports_gather,
              .cost = attend_selected_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaGather,
              .source_hash = source_hash::attend_selected_cuda_gather},
      Variant{
          .stages = kStage,
          .name = "fused_query",
          .backend = Backend::cuda,
          .role = Role::candidate,
          .min_compute_capability = 80,
          .dtypes = kDtypes,
          .coordinates = kQueryCoordinates,
          .ignores = kIgnoresRanges,
          .what =
              "Up to t neighbouring queries walk the union of their blocks together, a warp per "
              "one or two of them; takes blocks, needs no ranges.",
          .supports = supports_gather,
          .cost = attend_selected_cost,
          .workspace_bytes = no_workspace,
          .launch = kCudaFusedQuery,
          .source_hash = source_hash::attend_selected_cuda_fused_query},
  };
  return kRows;
}

}  // namespace nsa::attend_selected
