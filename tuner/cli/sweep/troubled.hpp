// The variants of a run whose results are not to be relied on.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::cli {

/// "attend_selected/late (sim): crashed at length 256, 512 (signal 11)": a line for each variant
/// and way in which it failed. A noisy visit counts where no quiet one of that problem followed;
/// a variant that cannot run a problem is in no trouble.
std::vector<std::string> troubled_variants(const std::vector<Measurement>& rows);

}  // namespace nsa::cli
