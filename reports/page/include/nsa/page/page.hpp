// One HTML file that shows a history, its verdicts and what was measured last.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::page {

/// @param data   {check, history, contests, created, unit}: all text in it may come from strangers
/// @param vega  vega_script()
std::string page_html(const Json& data, const std::string& vega);

/// One HTML file that shows a trace.
/// @param data   {trace: an entry of the page's traces, summary: the document of `trace summary
///               --json`, words: {what_if: what its questions are called}}: all text in it may come
///               from strangers
std::string trace_page_html(const Json& data, const std::string& vega);

/// Where Debian and Ubuntu put it (package libjs-vega).
inline constexpr const char* kVegaFolder = "/usr/share/javascript/vega";

/// A script that defines `vega` from the modules in `folder`, without any request.
/// @throws EnvironmentError  a module is missing or cannot be read
std::string vega_script(const std::string& folder);

}  // namespace nsa::page
