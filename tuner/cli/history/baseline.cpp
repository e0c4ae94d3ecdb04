#include "baseline.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

/// Shorter texts begin too many names.
constexpr std::size_t kLeastPrefix = 4;

bool begins(const std::string& whole, const std::string& name) {
  return name.size() >= kLeastPrefix && whole.starts_with(name);
}

bool names(const nightly::Night& night, const std::string& name) {
  return night.time == name || night.commit == name || begins(night.time, name) ||
         begins(night.commit, name);
}

/// Index of the last night that `name` names.
std::optional<std::int64_t> night_named(const NightlyHistory& history, const std::string& name) {
  const auto label = history.index_of_label.find(name);
  if (label != history.index_of_label.end()) return label->second;
  const auto run = std::find_if(history.index_of_run.begin(), history.index_of_run.end(),
                                [&](const auto& entry) { return begins(entry.first, name); });
  std::optional<std::int64_t> baseline;
  if (run != history.index_of_run.end()) baseline = run->second;
  for (const nightly::Series& series : history.series) {
    for (const nightly::Night& night : series.nights) {
      if (names(night, name)) baseline = std::max(baseline.value_or(night.index), night.index);
    }
  }
  return baseline;
}

}  // namespace

std::int64_t nights_after(const NightlyHistory& history, const std::string& name) {
  const auto baseline = night_named(history, name);
  if (!baseline)
    throw InputError("--baseline " + name + ": no night has this label, run, day or commit");
  std::set<std::int64_t> nights;
  for (const nightly::Series& series : history.series) {
    for (const nightly::Night& night : series.nights) nights.insert(night.index);
  }
  const auto after = std::distance(nights.upper_bound(*baseline), nights.end());
  return std::max<std::int64_t>(1, after);
}

}  // namespace nsa::cli
