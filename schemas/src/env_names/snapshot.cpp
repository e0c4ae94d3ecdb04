// The NSA_* variables of one moment: one parser for all values, one warning for each odd one.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "nsa/schemas/env_names.hpp"
#include "values.hpp"

namespace nsa {
namespace {

constexpr std::string_view kPrefix = "NSA_";

bool parses(EnvKind kind, std::string_view value) {
  switch (kind) {
    case EnvKind::boolean:
      return env::parse_boolean(value).has_value();
    case EnvKind::integer:
      return env::parse_integer(value).has_value();
    case EnvKind::real:
      return env::parse_real(value).has_value();
    case EnvKind::text:
      return true;
  }
  return false;
}

std::string_view wanted(EnvKind kind) {
  switch (kind) {
    case EnvKind::boolean:
      return "1, true, yes, on or 0, false, no, off";
    case EnvKind::integer:
      return "an integer";
    case EnvKind::real:
      return "a number";
    case EnvKind::text:
      return "text";
  }
  return "";
}

/// What the value of a name that decides something must be and is not, or nothing.
std::optional<std::string_view> refusal(const EnvName& entry, std::string_view value) {
  if (!parses(entry.kind, value)) return wanted(entry.kind);
  const bool reserve = entry.name.find("_RESERVE_") != std::string_view::npos;
  if (reserve && env::parse_integer(value).value_or(0) < 0) return "0 or more";
  const bool branch = value == "cmp" || value == "sel" || value == "win";
  if (entry.name == "NSA_FORCE_BRANCH" && !branch) return "cmp, sel or win";
  return std::nullopt;
}

/// What is odd about the variable, or nothing. Only names that decide something are judged.
std::optional<std::string> oddness(std::string_view name, std::string_view value) {
  const EnvName* entry = find_env_name(name);
  if (!entry) return env::unknown_name(name);
  if (entry->scope != EnvScope::runtime || parses(entry->kind, value)) return std::nullopt;
  return std::string(name) + "=" + env::shown(value) + ": ignored, expected " +
         std::string(wanted(entry->kind));
}

}  // namespace

const std::string* EnvSnapshot::raw(std::string_view name) const noexcept {
  const auto at =
      std::lower_bound(values.begin(), values.end(), name,
                       [](const auto& pair, std::string_view key) { return pair.first < key; });
  return at != values.end() && at->first == name ? &at->second : nullptr;
}

std::optional<bool> EnvSnapshot::boolean(std::string_view name) const noexcept {
  const std::string* value = raw(name);
  return value ? env::parse_boolean(*value) : std::nullopt;
}

std::optional<std::int64_t> EnvSnapshot::integer(std::string_view name) const noexcept {
  const std::string* value = raw(name);
  return value ? env::parse_integer(*value) : std::nullopt;
}

std::optional<double> EnvSnapshot::real(std::string_view name) const noexcept {
  const std::string* value = raw(name);
  return value ? env::parse_real(*value) : std::nullopt;
}

EnvSnapshot snapshot_environment(std::span<const std::string> entries) {
  EnvSnapshot snapshot;
  for (const std::string_view entry : entries) {
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    // An empty value is how a shell unsets a variable for one command.
    if (!env::trimmed(value).empty()) snapshot.values.emplace_back(name, value);
  }
  // The first of several entries with one name counts, as for getenv.
  std::stable_sort(snapshot.values.begin(), snapshot.values.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto repeated =
      std::unique(snapshot.values.begin(), snapshot.values.end(),
                  [](const auto& a, const auto& b) { return a.first == b.first; });
  snapshot.values.erase(repeated, snapshot.values.end());
  for (const auto& [name, value] : snapshot.values) {
    const EnvName* entry = find_env_name(name);
    if (!entry || entry->scope != EnvScope::runtime) continue;
    if (const auto expected = refusal(*entry, value))
      snapshot.refused.push_back(name + "=" + env::shown(value) + ": expected " +
                                 std::string(*expected));
  }
  std::erase_if(snapshot.values, [&](const auto& pair) {
    const auto odd = oddness(pair.first, pair.second);
    if (odd) snapshot.warnings.push_back(*odd);
    return odd.has_value();
  });
  return snapshot;
}

EnvSnapshot snapshot_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::string_view(*entry).starts_with(kPrefix)) entries.emplace_back(*entry);
  }
  return snapshot_environment(entries);
}

}  // namespace nsa
