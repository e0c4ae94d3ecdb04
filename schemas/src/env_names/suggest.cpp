// Warnings about names: what is shown, and which known name was probably meant.
#include <algorithm>

#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/text.hpp"
#include "values.hpp"

namespace nsa::env {
namespace {

constexpr std::size_t kMaxShown = 40;  // of a name or value in a warning

}  // namespace

std::string shown(std::string_view value) {
  std::string text(value.substr(0, kMaxShown));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return value.size() > kMaxShown ? text + "..." : text;
}

std::string unknown_name(std::string_view name) {
  const std::string_view probe = name.substr(0, kMaxShown);
  std::string_view nearest;
  std::size_t distance = probe.size() / 3;  // further away than that is no suggestion
  for (const EnvName& entry : env_names()) {
    const std::size_t longer = std::max(probe.size(), entry.name.size());
    const std::size_t shorter = std::min(probe.size(), entry.name.size());
    if (longer - shorter >= distance) continue;  // as many edits at least
    const std::size_t d = edit_distance(probe, entry.name);
    if (d < distance) nearest = entry.name, distance = d;
  }
  std::string line = shown(name) + ": unknown name, without effect";
  if (!nearest.empty()) line += "; did you mean " + std::string(nearest) + "?";
  return line;
}

}  // namespace nsa::env
