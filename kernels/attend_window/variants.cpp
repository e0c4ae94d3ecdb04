// Rows of attend_window: q, k_win, v_win -> o_win.
#include <vector>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band/rows.hpp"
#include "cuda/backward/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "launches/attend_window.hpp"
#include "source_hashes.hpp"
#include "vendor/rows.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_window};
constexpr StageRows kStage{kStages, attend_window_cost, attend_window_backward_cost};
constexpr std::string_view kKernels[] = {"WindowBand"};

constexpr auto kCpuRows = cpu::band_rows<cpu::BandKind::window>(kStage);
constexpr auto kCpuBackwardRows = cpu::band_backward_rows<cpu::BandKind::window>(kStage);

}  // namespace

std::span<const Variant> attend_window_variants() {
  static const std::vector<Variant> kRows = [] {
    std::vector<Variant> rows(kCpuRows.begin(), kCpuRows.end());
    rows.push_back(kStage.cuda(cuda::band_row(
        {.summary = "One kernel that visits only the tiles of keys in the window; the heads of a "
                    "group are rows of one tile, tensor cores for bf16 and fp16.",
         .launch = attend_window::kCudaFused,
         .source_hash = source_hash::attend_window_cuda_fused,
         .kernels = {.own = kKernels}})));
    for (const Variant& row : vendor::branch_rows(vendor::Band::window, kStage)) {
      rows.push_back(row);
    }
    rows.insert(rows.end(), kCpuBackwardRows.begin(), kCpuBackwardRows.end());
    rows.push_back(cuda::band_backward_row(
        kStage, {.workspace_bytes =
                     [](const Problem& p) { return cuda::band_backward_bytes(p, Branch::win); },
                 .launch = attend_window::kCudaFusedBackward,
                 .source_hash = source_hash::attend_window_cuda_fused_backward}));
    for (const Variant& row : vendor::window_backward_rows(kStage)) rows.push_back(row);
    return rows;
  }();
  return kRows;
}

}  // namespace nsa
