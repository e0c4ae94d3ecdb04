// The rows that a branch with one run of keys has by vendors' kernels, in every build.
#pragma once

#include <array>
#include <vector>

#include "catalog/rows.hpp"
#include "vendor/branch.hpp"

namespace nsa::vendor {

/// sdpa (window only), fa2_dense, fa2_varlen and sdpa_math, in this order.
std::vector<Variant> branch_rows(Band band, const StageRows& stage);

/// Of the window's backward pass: sdpa, sdpa_ordered and sdpa_math.
std::array<Variant, 3> window_backward_rows(const StageRows& stage);

}  // namespace nsa::vendor
