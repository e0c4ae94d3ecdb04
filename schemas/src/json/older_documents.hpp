// Documents in the words of earlier versions become what they would be today, before they are
// validated. Whatever else is found in them is left to the schema.
#pragma once

#include "nsa/schemas/json.hpp"

namespace nsa {

/// The flat view of thresholds files before version 3: null is "never", 0 is "always", a switch is
/// "always" or "never". The dense attention of a break-even was its `yardstick`, now `baseline`.
void upgrade_thresholds(Json& document);

/// Roles of variants: `opt_in` is now `reduced_precision`, `yardstick` is `baseline`.
void upgrade_sweep(Json& document);

}  // namespace nsa
