// The evidence of a range in words.
#pragma once

#include <string>

#include "nsa/schemas/thresholds.hpp"

namespace nsa::reports {

std::string variant_name(const VariantId& id);  // without its stages
/// "0.43x of masked [0.41, 0.45]"; "only candidate" without a runner-up.
std::string ratio_text(const Evidence& evidence);
/// "[512, 4096)", "[4096, ...)".
std::string range_text(std::int64_t from, const std::optional<std::int64_t>& to);

}  // namespace nsa::reports
