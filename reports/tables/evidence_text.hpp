// The evidence of a range in words.
#pragma once

#include <string>

#include "nsa/schemas/thresholds.hpp"

namespace nsa::reports {

std::string variant_name(const VariantId& id);  // without its stages
/// "0.43x of masked [0.41, 0.45]"; "only candidate" without a runner-up.
std::string ratio_text(const Evidence& evidence);
/// "3 measured it, each by itself 0.91x to 1.04x of masked; GPU-7697 would run packed at 4 lengths,
/// and loses 4.2 % there without", of evidence that says what differs between boards.
std::string boards_text(const Evidence& evidence);
/// "[512, 4096)", "[4096, ...)".
std::string range_text(std::int64_t from, const std::optional<std::int64_t>& to);

}  // namespace nsa::reports
