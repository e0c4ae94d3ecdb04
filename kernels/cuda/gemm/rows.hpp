// What the stages that are one product share: the row `gemm` and its reduced-precision row by TF32.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "cuda/gemm/launch.hpp"

namespace nsa::cuda {

/// Products of cuBLASLt, which chooses among hundreds: its own, CUTLASS's, and those for vectors.
inline constexpr std::array<std::string_view, 5> kProductKernels{
    "nvjet_", "cutlass", "cublas", "xmma_gemm", "nsa::cuda::(anonymous namespace)::gemv_kernel"};
/// The largest relative L2 of a row of fp32 between products of numbers of 10 bits after the binary
/// point, as fp16 has: both factors are rounded.
inline constexpr double kTf32Tolerance = 2e-3;

inline constexpr std::array<std::int64_t, kGemmAlgorithms> kAlgorithmValues{0, 1, 2, 3, 4, 5, 6, 7};
inline constexpr std::array kAlgorithmCoordinates{
    Coordinate{kAlgorithmCoordinate, kAlgorithmValues}};

/// `gemm` of a stage: `row` says what it does, supports, takes and launches.
inline Variant gemm_row(Variant row) {
  row.name = "gemm";
  row.coordinates = kAlgorithmCoordinates;
  row.kernels = {.own = kProductKernels};
  row.missing = gemm_missing;
  return row;
}

/// The same product with operands rounded to TF32, for who asks; in the folder of `gemm`.
inline Variant gemm_tf32_row(Variant gemm, std::string_view what,
                             void (*launch)(const LaunchArgs&)) {
  gemm.name = "gemm_tf32";
  gemm.role = Role::reduced_precision;
  gemm.precision = Precision::reduced;
  gemm.fp32_tolerance = kTf32Tolerance;
  gemm.dtypes = dtype_bit(Dtype::fp32);
  gemm.summary = what;
  gemm.launch = launch;
  return gemm;
}

}  // namespace nsa::cuda
