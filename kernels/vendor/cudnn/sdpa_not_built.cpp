#include "nsa/schemas/error.hpp"
#include "vendor/cudnn/backward.hpp"

namespace nsa::vendor {

const std::string& sdpa_missing() {
  static const std::string none;  // without the row it does not matter whether the library is there
  return none;
}
const std::string& sdpa_backward_missing() { return sdpa_missing(); }
std::string sdpa_version() { return ""; }

}  // namespace nsa::vendor
