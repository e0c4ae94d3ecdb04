// Which change a state comes from, and which series are one alert.
#pragma once

#include <cstddef>
#include <optional>

#include "nsa/nightly/judge.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::check_output {

/// The last change that gives a series its state; nothing where the state comes from no change.
std::optional<std::size_t> state_change(const nightly::Verdict& verdict, nightly::Better better);
/// `alerts` of check.schema.json: what moved, one entry for all series of a state and group.
Json alerts_of(const nightly::Report& report, nightly::Better better);

}  // namespace nsa::check_output
