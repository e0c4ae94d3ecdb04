// What `trace summary` and `trace diff` print.
#pragma once

#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/trace/diff.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::reports {

/// Tables for a terminal; `top` kernels at most.
std::string trace_summary_table(const trace::Summary& summary, std::size_t top, Style style);
/// What differs; `top` kernels at most.
std::string trace_diff_table(const trace::TraceDiff& diff, std::size_t top, Style style);

}  // namespace nsa::reports
