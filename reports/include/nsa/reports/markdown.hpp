// Markdown that is generated from the one table of variants.
#pragma once

#include <span>
#include <string>

#include "nsa/kernels/catalog.hpp"

namespace nsa::reports {

/// docs/variants.md: a table for each stage, in the order of the rows.
std::string variants_markdown(std::span<const Variant> variants);

}  // namespace nsa::reports
