// Words and figures that the tables of a trace share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/reports/text_table.hpp"
#include "nsa/trace/summary.hpp"
#include "sections.hpp"

namespace nsa::reports {

constexpr std::size_t kTableIndent = 2;

std::string ns(std::int64_t value);
/// A name in a column that is not the last one.
std::string short_name(const std::string& text);
/// "12.3 %"; "-" of nothing.
std::string share(std::int64_t part, std::int64_t whole);
/// "1.20 ms (12.3 %)"
std::string with_share(std::int64_t part, std::int64_t whole);
/// Whether a part of a trace is of chosen operations, not of a time or of steps.
bool by_operation(const std::string& part);
/// A rate with three digits, none of them as a power of ten: "27.6", "1,930".
std::string rate_text(double value);
/// With blanks for '_'.
std::string spaced(std::string word);
/// What a part of the time is called, idle or not: "host_wait" is "nothing launched".
std::string time_word(const std::string& key);
/// "GPU 0 NVIDIA H200", with its rank where several recordings were merged.
std::string device_name(const trace::Summary& summary, const trace::DeviceSummary& device);
/// "train.py:31 (load)", and where in packages it mostly was: ", in wait (threading.py:331)".
std::string python_line_text(const trace::PythonLine& line, bool with_package = true);
/// Columns for the figures of a device, stream or step, and their cells.
void add_scope_columns(TextTable& table);
std::vector<Cell> scope_cells(const trace::GpuFigures& figures);
/// "(12 more)": rows that a table leaves out.
Cell more_rows(std::size_t count);
/// Rows under a heading; nothing when there are none.
std::string section(const char* heading, TextTable table, const Page& page);

}  // namespace nsa::reports
