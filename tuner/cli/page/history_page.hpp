// The page of a judged history: what `report` writes, and `check --format html`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/input.hpp"
#include "nsa/check_output/document.hpp"

namespace nsa::cli {

/// What the page shows besides the history and the database.
struct PageExtras {
  std::optional<std::string> thresholds;  // file; drawn beside what was measured
  std::vector<std::string> traces;        // files and folders
};

/// Data of the page, as page::page_html takes them. `document`: what `check --json` prints.
Json page_data(const Settings& settings, const CheckInput& input, const NightlyHistory& history,
               const nightly::Report& report, const Json& document, const PageExtras& extras = {});

}  // namespace nsa::cli
