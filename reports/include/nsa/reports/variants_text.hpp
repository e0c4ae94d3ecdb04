// Variants in words: which runs and why, and the table of all.
#pragma once

#include <span>
#include <string>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/reports/style.hpp"

namespace nsa::reports {

/// What runs for one problem, why, on what evidence, what overrides what and what that costs.
std::string explain_text(const ExplainReport& report, Style style);

/// docs/variants.md: a table for each stage, in the order of the rows.
std::string variants_markdown(std::span<const Variant> variants);

}  // namespace nsa::reports
