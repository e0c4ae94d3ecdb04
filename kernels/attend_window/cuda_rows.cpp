#include "attend_window/cuda_rows.hpp"

#include <array>

#include "attend_window/cuda_launch.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/band_support.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_window {
namespace {

constexpr std::array kStage{Stage::attend_window};

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "fused",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDeviceDtypes,
              .what = "One kernel that visits only the tiles of keys in the window; the heads of a "
                      "group are rows of one tile, tensor cores for bf16 and fp16.",
              .supports = cuda::supports_band,
              .cost = attend_window_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaFused,
              .source_hash = source_hash::attend_window_cuda_fused}};
  return kRows;
}

}  // namespace nsa::attend_window
