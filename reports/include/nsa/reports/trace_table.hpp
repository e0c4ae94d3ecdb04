// What `trace summary` and `trace diff` print.
#pragma once

#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/trace/diff.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::reports {

inline constexpr std::size_t kDefaultColumns = 120;  // where no terminal says how wide it is

/// Tables for a terminal of `columns`; `top` kernels at most.
std::string trace_summary_table(const trace::Summary& summary, std::size_t top, Style style,
                                std::size_t columns = kDefaultColumns);
/// Each recording in a line, then the tables of all of them merged. `ranks` are in the order of
/// ProcessInfo::part.
std::string trace_ranks_table(const trace::Summary& merged,
                              const std::vector<trace::Summary>& ranks, std::size_t top,
                              Style style, std::size_t columns = kDefaultColumns);
/// "on one time line: a step of a name begins everywhere at once (hosts a and b); ..."
std::string clocks_text(const trace::Clocks& clocks);
/// What differs; `top` kernels at most.
std::string trace_diff_table(const trace::TraceDiff& diff, std::size_t top, Style style,
                             std::size_t columns);

}  // namespace nsa::reports
