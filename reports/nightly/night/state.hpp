// From what was found in a series to its state.
#pragma once

#include "calendar.hpp"
#include "nsa/nightly/judge.hpp"
#include "series/examine.hpp"

namespace nsa::nightly {

/// @param last  ordinal of the last night of all series
Verdict verdict_of(const Examined& examined, std::int64_t last, const Options& options);

/// The alert that a confirmation of tonight answers: the last night's, or the latest change that is
/// still open; null where there is none.
const Found* alert_to_confirm(const Examined& examined, std::int64_t last, const Options& options);

/// Whether the last night said anything about the series.
bool was_judged(State state);

}  // namespace nsa::nightly
