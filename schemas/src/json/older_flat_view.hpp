// The flat view of thresholds files before version 3, which had null, 0 and booleans.
#pragma once

#include "nsa/schemas/json.hpp"

namespace nsa {

/// Puts the values of version 3 in the place of those of an older document: null is "never", 0 is
/// "always", a switch is "always" or "never". Whatever else it finds is left to the schema.
void upgrade_flat_views(Json& document);

}  // namespace nsa
