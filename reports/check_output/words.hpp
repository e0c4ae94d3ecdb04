// Pieces of text that several formats share; all from the document.
#pragma once

#include <string>
#include <vector>

#include "nsa/check_output/document.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::check_output {

/// "+4.6 % to +5.7 %".
std::string interval_text(const Json& change);
/// "abc..def", "..def" or "".
std::string commits_text(const Json& change_or_alert);
/// "warming_up (3/7)", else the state.
std::string state_text(const Json& series);
/// The change that gives a series its state, or null.
const Json* state_change(const Json& series);
/// "1 confirmed, 12 ok": states that have series, the urgent ones first.
std::string counts_text(const Json& document);
/// What the exit code says, in a line without its end.
std::string verdict_text(const Json& document);
/// Series by name of state, in the order of the document.
std::vector<const Json*> series_in(const Json& document, const std::string& state);
/// States with something to say of each series, the urgent ones first.
const std::vector<std::string>& told_states();

}  // namespace nsa::check_output
