#include "vendor/launch.hpp"

namespace nsa::vendor {

constinit const BranchLaunch kFa2Dense{nullptr, nullptr};
constinit const BranchLaunch kFa2Varlen{nullptr, nullptr};

}  // namespace nsa::vendor
