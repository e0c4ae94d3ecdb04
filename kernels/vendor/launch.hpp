// Launch functions of vendors' kernels; null where they are not built (the files *_not_built.cpp).
// Tables alone include this: a unit that did would have a new hash with every new row, so units
// define theirs as `extern constinit`.
#pragma once

#include "vendor/branch.hpp"

namespace nsa::vendor {

extern const BranchLaunch kSdpa;  // cuDNN's fused attention: the window alone
extern const BranchLaunch kFa2Dense, kFa2Varlen;
extern const BranchLaunch kMath;  // product, softmax, product

}  // namespace nsa::vendor
