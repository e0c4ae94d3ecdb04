// Launch functions of vendors' kernels; null where they are not built (the files *_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"
#include "vendor/branch.hpp"

namespace nsa::vendor {

using LaunchFunction = void (*)(const LaunchArgs&);
struct BranchLaunch {
  LaunchFunction window, compressed;
  LaunchFunction of(Band band) const noexcept { return band == Band::window ? window : compressed; }
};

extern const BranchLaunch kSdpa;  // cuDNN's fused attention: the window alone
extern const BranchLaunch kFa2Dense, kFa2Varlen;
extern const BranchLaunch kMath;  // product, softmax, product

}  // namespace nsa::vendor
