// Globs over variant names.
#include <fnmatch.h>

#include <algorithm>

#include "nsa/schemas/variant_text.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::tuner {
namespace {

bool matches(const std::string& glob, const std::string& text) {
  return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

bool matches_any(const std::vector<std::string>& globs, const VariantId& id) {
  if (globs.empty()) return true;
  const std::string full = to_string(id);
  const auto names = [&](const std::string& glob, const std::string& text) {
    return matches(glob, text) || matches(glob, text.substr(text.find('/') + 1));
  };
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return matches(glob, id.name) || names(glob, full) || names(glob, with_older_point(full));
  });
}

}  // namespace nsa::tuner
