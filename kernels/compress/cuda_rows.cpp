#include "compress/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "compress/cuda_launch.hpp"
#include "source_hashes.hpp"

namespace nsa::compress {
namespace {

constexpr std::array kStage{Stage::compress};

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "avg",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDeviceDtypes,
              .what = "The mean of l rows of K and of V, four lanes per 16 bytes of the result.",
              .cost = compress_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaAvg,
              .source_hash = source_hash::compress_cuda_avg},
  };
  return kRows;
}

}  // namespace nsa::compress
