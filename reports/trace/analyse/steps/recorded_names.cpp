#include "recorded_names.hpp"

#include <algorithm>
#include <sstream>

namespace nsa::trace {

RecordedNames::RecordedNames(const Trace& trace, const char* key) {
  for (const ProcessInfo& process : trace.processes) {
    auto& names = names_.emplace_back();
    const auto lines = process.metadata.find(key);
    if (lines == process.metadata.end()) continue;
    std::istringstream text(lines->second);
    for (std::string line; std::getline(text, line);) names.insert(line);
  }
}

bool RecordedNames::empty() const {
  return std::all_of(names_.begin(), names_.end(), [](const auto& names) { return names.empty(); });
}

bool RecordedNames::hold(std::uint32_t process, std::string_view name) const {
  return process < names_.size() && names_[process].contains(name);
}

bool RecordedNames::hold(std::string_view name) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const auto& names) { return names.contains(name); });
}

}  // namespace nsa::trace
