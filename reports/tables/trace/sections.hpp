// The parts of what `trace summary` prints, a heading and its tables each; "" where there is
// nothing.
#pragma once

#include <cstddef>
#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::reports {

/// How the text is laid out.
struct Page {
  Style style;
  std::size_t columns;
};

/// The whole of it, what recorders counted, devices and their streams.
std::string overview_text(const trace::Summary& summary, const Page& page);
std::string steps_text(const trace::Summary& summary, std::size_t top, const Page& page);
std::string stages_text(const trace::Summary& summary, const Page& page);
std::string host_waits_text(const trace::Summary& summary, const Page& page);
std::string copies_text(const trace::Summary& summary, const Page& page);
/// Causes of idle time, the longest gaps, and launches that wait.
std::string idle_text(const trace::Summary& summary, std::size_t top, const Page& page);
/// Modules, operators, annotations, ranges: who launched the work.
std::string owners_text(const trace::Summary& summary, std::size_t top, const Page& page);
std::string kernels_text(const trace::Summary& summary, std::size_t top, const Page& page);

}  // namespace nsa::reports
