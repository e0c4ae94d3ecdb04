#include "vendor/launch.hpp"

namespace nsa::vendor {

constinit const BranchLaunch kMath{nullptr, nullptr};

}  // namespace nsa::vendor
