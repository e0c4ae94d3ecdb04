// The rows that a branch with one run of keys has by vendors' kernels, in every build.
#pragma once

#include <vector>

#include "catalog/rows.hpp"
#include "vendor/branch.hpp"

namespace nsa::vendor {

/// sdpa (window only), fa2_dense, fa2_varlen and sdpa_math, in this order.
std::vector<Variant> branch_rows(Band band, const StageRows& stage);

/// The same of the backward pass: sdpa and sdpa_ordered (window only), and sdpa_math.
std::vector<Variant> branch_backward_rows(Band band, const StageRows& stage);

}  // namespace nsa::vendor
