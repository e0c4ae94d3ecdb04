#include "score/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "score/cuda_launch.hpp"
#include "score/cuda_workspace.hpp"
#include "source_hashes.hpp"

namespace nsa::score {
namespace {

constexpr std::array kStage{Stage::score};
constexpr std::array kKernels{std::string_view("::logits_kernel<"),
                              std::string_view("::block_scores_kernel<")};

Support fits_grid(const Problem& p, const Device&) noexcept {
  if (p.max_compressed() > std::int64_t{0xffff} * 64)
    return Support::no("more than 4,194,240 compressed tokens of a sequence do not fit one launch");
  return Support::yes();
}

std::int64_t workspace_fp32(const Problem& p) { return ChunkSizes(p, 4).bytes; }
std::int64_t workspace_half(const Problem& p) { return ChunkSizes(p, 2).bytes; }

constexpr Variant row(std::string_view name, std::string_view what,
                      std::int64_t (*workspace)(const Problem&), LaunchFunction launch) {
  return {.stages = kStage,
          .name = name,
          .backend = Backend::cuda,
          .role = Role::candidate,
          .min_compute_capability = 80,
          .dtypes = kDeviceDtypes,
          .what = what,
          .supports = fits_grid,
          .cost = score_cost,
          .workspace_bytes = workspace,
          .launch = launch,
          .source_hash = source_hash::score_cuda_materialised,
          .kernels = {.own = kKernels}};
}

/// One that rounds something in between to 16 bits.
constexpr Variant reduced(Variant row, SwitchTarget target) {
  row.dtypes = dtype_bit(Dtype::bf16);
  row.precision = Precision::reduced;
  row.switch_target = target;
  return row;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  // Rounding p_cmp to 16 bits is right within the rounding of a bf16 problem, not of a finer one;
  // fp16 has nothing below 3e-8, so that the least blocks of a steep softmax tie.
  Variant p_cmp_fp16 = reduced(row("p_cmp_fp16",
                                   "materialised with p_cmp stored as fp16, where less than 3e-8 "
                                   "is nothing; scores and top-n in fp32.",
                                   workspace_half, kCudaPCmpFp16),
                               SwitchTarget::p_cmp_mixed);
  p_cmp_fp16.role = Role::opt_in;
  static const std::array kRows{
      row("materialised",
          "Logits, p_cmp, block scores and top-n in memory, one kernel each, all in fp32.",
          workspace_fp32, kCudaMaterialised),
      reduced(row("p_cmp_bf16", "materialised with p_cmp stored as bf16; scores and top-n in fp32.",
                  workspace_half, kCudaPCmpBf16),
              SwitchTarget::p_cmp_mixed),
      p_cmp_fp16,
      reduced(
          row("p_slc_bf16",
              "materialised with the scores of the selection blocks stored as bf16; top-n in fp32.",
              workspace_fp32, kCudaPSlcBf16),
          SwitchTarget::p_slc_mixed),
  };
  return kRows;
}

}  // namespace nsa::score
