// Variants in words: which runs and why, and the table of all.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/reports/style.hpp"

namespace nsa::reports {

/// Where a config has set variables that the environment does not: "NSA_USE_FA2" ->
/// "users.yaml:16".
using ConfigOrigins = std::map<std::string, std::string, std::less<>>;
/// The report with the origin behind each value that decides: "NSA_USE_FA2=1 (users.yaml:16)".
ExplainReport with_origins(ExplainReport report, const ConfigOrigins& origins);

/// The report with each reason once where no variant runs a stage: "batched, dense: stores fp32,
/// bf16, fp16, not fp64", which routing says of each variant by itself.
ExplainReport with_reasons_once(ExplainReport report);

/// What runs for one problem, why, on what evidence, what overrides what and what that costs. What
/// `origins` alone decided is decided by the config.
std::string explain_text(const ExplainReport& report, Style style,
                         const ConfigOrigins& origins = {});

/// docs/variants.md: a table for each stage, in the order of the rows.
std::string variants_markdown(std::span<const Variant> variants);

}  // namespace nsa::reports
