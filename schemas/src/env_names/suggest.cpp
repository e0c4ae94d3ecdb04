// Warnings about names: what is shown, and which known name was probably meant.
#include <algorithm>
#include <array>

#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/text.hpp"
#include "values.hpp"

namespace nsa::env {
namespace {

constexpr std::size_t kMaxShown = 40;  // of a name or value in a warning

/// A bound that costs little beside the distance: an edit gives a word one byte at most of those
/// that only the other has.
std::size_t fewest_edits(std::string_view a, std::string_view b) {
  std::array<std::size_t, 256> left{};
  for (const char c : a) ++left[static_cast<unsigned char>(c)];
  std::size_t common = 0;
  for (const char c : b) {
    std::size_t& of_a = left[static_cast<unsigned char>(c)];
    if (of_a > 0) --of_a, ++common;
  }
  return std::max(a.size(), b.size()) - common;
}

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
    if (fewest_edits(probe, entry.name) >= distance) continue;
    const std::size_t d = edit_distance(probe, entry.name);
    if (d < distance) nearest = entry.name, distance = d;
  }
  std::string line = shown(name) + ": unknown name, without effect";
  if (!nearest.empty()) line += "; did you mean " + std::string(nearest) + "?";
  return line;
}

}  // namespace nsa::env
