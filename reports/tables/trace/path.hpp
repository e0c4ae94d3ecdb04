// The tables of `trace summary` about the critical path.
#pragma once

#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::reports {

/// What the path is made of, and what the trace would be without its parts; "" without one.
std::string critical_path_text(const trace::Summary& summary, std::size_t top, Style style,
                               std::size_t columns);
/// "all kernels of that name", "waiting for other ranks", ...
std::string what_if_text(const trace::WhatIf& what_if);

}  // namespace nsa::reports
