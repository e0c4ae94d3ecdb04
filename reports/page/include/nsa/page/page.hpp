// One HTML file that shows a history, its verdicts and what was measured last.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::page {

/// @param data   {check, history, contests, created, unit}: all text in it may come from strangers
/// @param vega  vega_script()
std::string page_html(const Json& data, const std::string& vega);

}  // namespace nsa::page
