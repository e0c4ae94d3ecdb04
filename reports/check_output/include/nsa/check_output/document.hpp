// What the nightly check found, as the one document that every format is made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/nightly/judge.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::check_output {

/// "ok", "suspect", ...; `fresh` is "new".
std::string_view state_name(nightly::State state) noexcept;

/// A document of check.schema.json. Numbers have six significant digits, so that the same history
/// in another unit gives the same bytes but for differences on a linear scale. Series are in the
/// order of the report; `series` are those that were judged.
Json check_document(const nightly::Report& report, const std::vector<nightly::Series>& series,
                    const nightly::Options& options);

/// Of a change in it, or another {"ratio": 1.1} or {"delta": -0.25}: "+5.1 %"; "2.30x" from a
/// doubling or a halving on; "-0.25" on a linear scale.
std::string size_text(const Json& change);

}  // namespace nsa::check_output
