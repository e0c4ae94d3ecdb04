// The tables of `trace summary` about what moved data between GPUs.
#pragma once

#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::reports {

/// Collectives, the ranks that were waited for and the longest waits; "" where nothing was sent.
std::string communication_text(const trace::Summary& summary, std::size_t top, Style style,
                               std::size_t columns);

}  // namespace nsa::reports
