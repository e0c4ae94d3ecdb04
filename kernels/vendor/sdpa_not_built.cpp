#include "nsa/schemas/error.hpp"
#include "vendor/cudnn_sdpa.hpp"
#include "vendor/launch.hpp"

namespace nsa::vendor {

constinit const BranchLaunch kSdpa{nullptr, nullptr};

const std::string& sdpa_missing() {
  static const std::string none;  // without the row it does not matter whether the library is there
  return none;
}
std::string sdpa_version() { return ""; }

}  // namespace nsa::vendor
