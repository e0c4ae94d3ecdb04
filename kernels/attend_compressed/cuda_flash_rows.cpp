#include "attend_compressed/cuda_flash_rows.hpp"

#include <array>

#include "attend_compressed/cuda_flash_launch.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/band_support.hpp"
#include "source_hashes.hpp"

namespace nsa::attend_compressed {
namespace {

constexpr std::array kStage{Stage::attend_compressed};

}  // namespace

std::span<const Variant> cuda_flash_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "fused",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDeviceDtypes,
              .what = "One kernel that visits only the compressed keys so far; the heads of a "
                      "group are rows of one tile, tensor cores for bf16 and fp16.",
              .supports = cuda::supports_band,
              .cost = attend_compressed_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaFlash,
              .source_hash = source_hash::attend_compressed_cuda_flash}};
  return kRows;
}

}  // namespace nsa::attend_compressed
