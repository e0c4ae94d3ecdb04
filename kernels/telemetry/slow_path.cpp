// The one warning that nobody may miss, once per reason and process.
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "nsa/kernels/telemetry.hpp"

namespace nsa {

bool warn_slow_path_once(std::string_view reason) {
  // Once per process is what users grep for; a set is the memory of that.
  static std::mutex mutex;
  static std::set<std::string, std::less<>> warned;
  const std::lock_guard lock(mutex);
  if (!warned.emplace(reason).second) return false;
  const std::string line = "nsatune: Using slow _sdpa_over_ranges (" + std::string(reason) +
                           "): one launch per row. Unset NSA_USE_SEL_PACK, NSA_FORCE_PARITY or the "
                           "override that asked for it; without NSA_FORCE_PARITY, "
                           "NSA_FORCE_SEL_MASK=1 overrides the rest; "
                           "`nsatune explain` shows who decided.\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return true;
}

}  // namespace nsa
