// How far a misspelt word is from one that is known.
#pragma once

#include <cstddef>
#include <string_view>

namespace nsa {

/// Levenshtein distance: insertions, deletions and replacements.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace nsa
