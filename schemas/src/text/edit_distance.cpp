#include <algorithm>
#include <tuple>
#include <vector>

#include "nsa/schemas/text.hpp"

namespace nsa {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                                  a.begin());
}

/// A name that goes on from where the word ends is one slip away, however long it is.
std::size_t slips(std::string_view word, std::string_view name) {
  constexpr std::size_t kTelling = 3;  // shorter beginnings fit too many names
  const bool begun = word.size() >= kTelling && name.starts_with(word) && name != word;
  return begun ? 1 : edit_distance(word, name);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above, before(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above.swap(before);
    before.swap(row);
    row.resize(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      row[j] = std::min({replaced, before[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kMostCompared = 60;  // the time of a comparison grows with both
  word = word.substr(0, kMostCompared);
  const std::size_t most = (word.size() + 2) / 3;
  std::string_view nearest;
  auto best = std::tuple(most + 1, std::size_t{0});
  for (const std::string_view name : names) {
    const auto rank = std::tuple(slips(word, name), kMostCompared - common_prefix(word, name));
    if (rank < best) nearest = name, best = rank;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(word, names);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace nsa
