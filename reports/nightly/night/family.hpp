// All changes of a night together.
#pragma once

#include <cstdint>
#include <vector>

#include "series/examine.hpp"

namespace nsa::nightly {

/// Sets q by Benjamini and Hochberg: over the changes that began in the window, and apart from them
/// over the older ones. Each judged series without a change counts as one with p = 1; changes that
/// the machine or its clocks made are of no family.
/// @param last  ordinal of the last night
void set_q(std::vector<Examined>& all, std::int64_t last, const Options& options);

/// Names the groups: changes of one variant, device and commit range, give or take a night, are one
/// alert; so are those of one machine and night.
void set_groups(std::vector<Examined>& all);

/// Whether a change is recent enough to be red; a drift always is.
bool in_window(const Found& found, std::int64_t last, const Options& options);

}  // namespace nsa::nightly
