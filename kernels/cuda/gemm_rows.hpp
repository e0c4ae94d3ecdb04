// What the stages that are one product share: the row `gemm` and its opt-in by TF32.
#pragma once

#include "catalog/rows.hpp"
#include "cuda/gemm.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// `gemm` of a stage, all but what it does, supports, costs and launches.
inline Variant gemm_row(std::span<const Stage> stages) {
  return {.stages = stages,
          .name = "gemm",
          .backend = Backend::cuda,
          .role = Role::candidate,
          .min_compute_capability = 80,
          .dtypes = kDeviceDtypes,
          .coordinates = kAlgorithmCoordinates};
}

/// The same product with operands rounded to TF32, for who asks.
inline Variant gemm_tf32_row(Variant gemm, std::string_view what,
                             void (*launch)(const LaunchArgs&)) {
  gemm.name = "gemm_tf32";
  gemm.role = Role::opt_in;
  gemm.dtypes = dtype_bit(Dtype::fp32);
  gemm.what = what;
  gemm.launch = launch;
  return gemm;
}

/// The launch function of either row, from one that takes the product's options.
template <void (*kLaunch)(const LaunchArgs&, const GemmOptions&), bool kTf32>
void launch_product(const LaunchArgs& args) {
  kLaunch(args, {.algorithm = algorithm_of(args.point), .tf32 = kTf32});
}

}  // namespace nsa::cuda
