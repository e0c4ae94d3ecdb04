// Launch functions of the rows that are one product.
#pragma once

#include "cuda/gemm/gemm.hpp"
#include "cuda/launch/coordinate.hpp"

namespace nsa::cuda {

/// The coordinate of such a row: the rank of an algorithm, 0 where a point does not name it.
inline constexpr std::string_view kAlgorithmCoordinate = "algo";

/// The launch function of a row, from one that takes the product's options.
template <void (*kLaunch)(const LaunchArgs&, const GemmOptions&), bool kTf32>
void launch_product(const LaunchArgs& args) {
  const auto algorithm = static_cast<int>(coordinate(args, kAlgorithmCoordinate, 0));
  kLaunch(args, {.algorithm = algorithm, .tf32 = kTf32});
}

}  // namespace nsa::cuda
