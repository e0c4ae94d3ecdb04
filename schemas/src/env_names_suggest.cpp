// Warnings about names: what is shown, and which known name was probably meant.
#include <algorithm>
#include <vector>

#include "env_names_values.hpp"
#include "nsa/schemas/edit_distance.hpp"
#include "nsa/schemas/env_names.hpp"

namespace nsa {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

namespace env {
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
    const std::size_t d = edit_distance(probe, entry.name);
    if (d < distance) nearest = entry.name, distance = d;
  }
  std::string line = shown(name) + ": no such name, it has no effect";
  if (!nearest.empty()) line += "; did you mean " + std::string(nearest) + "?";
  return line;
}

}  // namespace env
}  // namespace nsa
