// JSON for people: what fits on a line of 100 columns stands on one.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa {

/// Indented by two spaces, with a final newline; the same bytes for the same
/// document.
std::string pretty(const Json& document);

}  // namespace nsa
