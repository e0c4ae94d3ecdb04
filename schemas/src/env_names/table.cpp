// The whole table of NSA_* names, sorted, and the look-up in it.
#include "nsa/schemas/env_names.hpp"

#include <algorithm>
#include <vector>

#include "tables.hpp"

namespace nsa {
namespace {

std::vector<EnvName> sorted_names() {
  std::vector<EnvName> names;
  for (const auto part : {runtime_env_names(), ignored_env_names(), trainer_env_names()}) {
    names.insert(names.end(), part.begin(), part.end());
  }
  std::sort(names.begin(), names.end(),
            [](const EnvName& a, const EnvName& b) { return a.name < b.name; });
  return names;
}

bool matches(const EnvName& entry, std::string_view name) {
  if (!entry.name.ends_with('*')) return entry.name == name;
  return name.starts_with(entry.name.substr(0, entry.name.size() - 1));
}

}  // namespace

std::span<const EnvName> env_names() {
  static const std::vector<EnvName> names = sorted_names();
  return names;
}

const EnvName* find_env_name(std::string_view name) {
  for (const EnvName& entry : env_names()) {
    if (matches(entry, name)) return &entry;
  }
  return nullptr;
}

}  // namespace nsa
