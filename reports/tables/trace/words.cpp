#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nsa/reports/units.hpp"
#include "nsa/trace/python_lines.hpp"
#include "nsa/trace/who.hpp"

namespace nsa::reports {
namespace {

constexpr std::size_t kNameColumns = 72;

}  // namespace

std::string ns(std::int64_t value) { return format_ns(static_cast<double>(value)); }

std::string short_name(const std::string& text) { return shortened(printable(text), kNameColumns); }

std::string share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  return format_percent(static_cast<double>(part) / static_cast<double>(whole));
}

bool by_operation(const std::string& part) {
  return part.find("--stream ") != part.npos || part.find("--name ") != part.npos;
}

std::string rate_text(double value) {
  constexpr double kLast = 999.5;  // that {:.3g} writes without an exponent
  return value < kLast ? fmt::format("{:.3g}", value) : format_tokens(std::llround(value));
}

std::string spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

std::string time_word(const std::string& key) {
  if (key == "host_wait") return "nothing launched";
  if (key == "kernel_wait") return "launch pending";
  if (key == "sync") return "host in sync";
  if (key == "profiler_overhead") return "profiler";
  return key == "before_next_step" ? "time before the next step" : spaced(key);
}

std::string with_share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{} ({})", ns(part), share(part, whole));
}

std::string device_name(const trace::Summary& s, const trace::DeviceSummary& d) {
  const std::string name = trace::gpu_name(s, d.part, d.device);
  return d.name ? name + " " + printable(*d.name) : name;
}

std::string python_line_text(const trace::PythonLine& line, bool with_package) {
  std::string text = printable(trace::line_text(line.file, line.line, line.function));
  if (with_package && !line.within.empty()) text += ", in " + printable(line.within);
  return text;
}

void add_scope_columns(TextTable& table) {
  table.add_columns({"span", "busy", "compute", "comm", "exposed", "memory ops", "kernels"},
                    Align::right);
}

std::vector<Cell> scope_cells(const trace::GpuFigures& g) {
  if (g.whole_graphs > 0)
    return {ns(g.span_ns), share(g.busy_ns, g.device_ns()), "-", "-", "-", "-", "-"};
  return {ns(g.span_ns),           share(g.busy_ns, g.device_ns()), ns(g.compute_ns),
          ns(g.comm_ns),           ns(g.exposed_comm_ns),           ns(g.mem_ns),
          format_tokens(g.kernels)};
}

Cell more_rows(std::size_t count) { return {fmt::format("({} more)", count), Ink::dim}; }

std::string section(const char* heading, TextTable table, const Page& page) {
  if (table.empty()) return {};
  table.fit(page.columns - std::min(page.columns, kTableIndent));
  const Style style = page.style;
  return "\n" + inked(heading, Ink::bold, style) + "\n" + table.render(style, kTableIndent);
}

}  // namespace nsa::reports
