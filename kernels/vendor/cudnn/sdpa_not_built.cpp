#include "nsa/schemas/error.hpp"
#include "vendor/cudnn/sdpa.hpp"

namespace nsa::vendor {

const std::string& sdpa_missing() {
  static const std::string none;  // without the row it does not matter whether the library is there
  return none;
}
std::string sdpa_version() { return ""; }

}  // namespace nsa::vendor
