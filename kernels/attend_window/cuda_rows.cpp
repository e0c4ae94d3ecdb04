#include "attend_window/cuda_rows.hpp"

#include <array>

#include "attend_window/cuda_launch.hpp"
#include "catalog/cost.hpp"
#include "cuda/flash/band_support.hpp"
#include "source_hashes.hpp"
#include "vendor/rows.hpp"

namespace nsa::attend_window {
namespace {

constexpr std::array kStage{Stage::attend_window};
constexpr std::array kKernels{std::string_view("WindowBand")};

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::vector<Variant> rows = [] {
    std::vector all{cuda::band_row(
        kStage,
        "One kernel that visits only the tiles of keys in the window; the heads of "
        "a group are rows of one tile, tensor cores for bf16 and fp16.",
        attend_window_cost, kCudaFused, source_hash::attend_window_cuda_fused, kKernels)};
    for (const Variant& row :
         vendor::branch_rows(vendor::Band::window, kStage, attend_window_cost)) {
      all.push_back(row);
    }
    return all;
  }();
  return rows;
}

}  // namespace nsa::attend_window
