// The formats of the nightly check, each made from a document of check.schema.json. Names of series
// are text of strangers: no format lets one act as markup, a formula or a control character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::check_output {

/// For a terminal: counts, a line for each change that matters, what the exit code means.
std::string text(const Json& document, reports::Style style);
/// For a step summary of GitHub Actions: alerts, then all series folded. Below 1 MiB.
std::string markdown(const Json& document);
/// For a pull request: the alerts, below 65,536 characters, with a mark by which a bot finds it.
std::string comment(const Json& document);
/// A test case for each series; elements and attributes that Jenkins' JUnit 10 schema knows.
std::string junit(const Json& document);
/// A line for each change, and one for each series without any. RFC 4180; cells that a spreadsheet
/// would take for a formula begin with an apostrophe.
std::string csv(const Json& document);

/// Names of the formats: text, json, markdown, comment, junit, csv.
std::vector<std::string> format_names();
/// The document in one of them. ContractError on another name.
std::string render(const Json& document, std::string_view format, reports::Style style = {});

}  // namespace nsa::check_output
