#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Summary;

/// Adds a line of what a table leaves out: in the last column how many rows, before it what they
/// add up to, "" where sums would count work twice.
void add_rest(TextTable& table, std::size_t rows, std::vector<Cell> sums) {
  if (rows == 0) return;
  sums.push_back(more_rows(rows));
  table.add_row(std::move(sums));
}

template <class Row>
std::size_t shown_of(const std::vector<Row>& rows, std::size_t top) {
  return std::min(rows.size(), top);
}

/// "[8,1024] [1024,4096]" of "[[8, 1024], [1024, 4096], []]": inputs without a shape are left out.
std::string short_shapes(const std::string& inputs) {
  std::string text;
  int depth = 0;
  std::string one;
  for (const char c : inputs) {
    if (c == '[' && ++depth == 2) one.clear();
    if (depth >= 2 && c != ' ') one += c;
    if (c != ']' || depth-- != 2) continue;
    if (one != "[]") text += (text.empty() ? "" : " ") + one;
  }
  return text;
}

/// The inputs that took most GPU time, and in how many of the calls.
std::string main_inputs(const trace::OperatorRow& row, std::size_t columns) {
  if (row.shapes.empty()) return "-";
  const trace::OperatorShape& shape = row.shapes.front();
  const std::string shapes = short_shapes(shape.inputs);
  if (shapes.empty()) return "-";
  return shortened(fmt::format("{}x {}", format_tokens(shape.count), printable(shapes)), columns);
}

/// Columns for the inputs of the operators that are shown, beside the figures and their names; 0:
/// none were recorded, or there is no room.
std::size_t room_for_inputs(const Summary& s, std::size_t top, std::size_t columns) {
  constexpr std::size_t kFigures = 69, kName = 36, kLeast = 15, kMost = 48;
  if (!s.operators) return 0;
  std::size_t name = 0;
  bool any = false;
  for (std::size_t i = 0; i < shown_of(*s.operators, top); ++i) {
    const trace::OperatorRow& row = (*s.operators)[i];
    name = std::max(name, display_width(printable(row.name)));
    any = any || !row.shapes.empty();
  }
  const std::size_t others = kFigures + std::min(name, kName);
  return any && columns >= others + kLeast ? std::min(columns - others, kMost) : 0;
}

TextTable operators(const Summary& s, std::size_t top, std::size_t columns) {
  TextTable table;
  table.add_columns({"GPU alone", "share", "with children", "calls", "host alone", "TFLOP/s"},
                    Align::right);
  const std::size_t inputs = room_for_inputs(s, top, columns);
  if (inputs > 0) table.add_column("of it most with");
  table.add_column("operator");
  if (!s.operators || !s.sums) return table;
  const std::size_t shown = shown_of(*s.operators, top);
  std::int64_t gpu_ns = 0, host_ns = 0, calls = 0;
  for (std::size_t i = 0; i < s.operators->size(); ++i) {
    const trace::OperatorRow& row = (*s.operators)[i];
    if (i >= shown) {
      gpu_ns += row.gpu_self_ns;
      host_ns += row.host_self_ns;
      calls += row.count;
      continue;
    }
    const bool rate = row.flop.value_or(0) > 0 && row.gpu_ns > 0;
    std::vector<Cell> cells{
        ns(row.gpu_self_ns),
        share(row.gpu_self_ns, s.sums->op_sum_ns),
        ns(row.gpu_ns),
        format_tokens(row.count),
        ns(row.host_self_ns),
        rate ? fmt::format("{:.3g}", 1e-3 * *row.flop / static_cast<double>(row.gpu_ns)) : "-"};
    if (inputs > 0) cells.emplace_back(main_inputs(row, inputs));
    cells.emplace_back(printable(row.name));
    table.add_row(std::move(cells));
  }
  std::vector<Cell> sums{
      ns(gpu_ns), share(gpu_ns, s.sums->op_sum_ns), "", format_tokens(calls), ns(host_ns), ""};
  if (inputs > 0) sums.emplace_back("");
  add_rest(table, s.operators->size() - shown, std::move(sums));
  return table;
}

/// The same by the time of the host alone.
TextTable host_operators(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"host alone", "with children", "calls", "a call", "GPU alone"}, Align::right);
  table.add_column("operator");
  if (!s.operators) return table;
  std::vector<const trace::OperatorRow*> rows;
  for (const trace::OperatorRow& row : *s.operators) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->host_self_ns > b->host_self_ns; });
  const std::size_t shown = shown_of(rows, top);
  trace::OperatorRow rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const trace::OperatorRow& row = *rows[i];
    if (i >= shown) {
      rest.host_self_ns += row.host_self_ns;
      rest.gpu_self_ns += row.gpu_self_ns;
      rest.count += row.count;
      continue;
    }
    table.add_row({ns(row.host_self_ns), ns(row.host_ns), format_tokens(row.count),
                   ns(row.host_self_ns / std::max<std::int64_t>(1, row.count)), ns(row.gpu_self_ns),
                   printable(row.name)});
  }
  add_rest(table, rows.size() - shown,
           {ns(rest.host_self_ns), "", format_tokens(rest.count), "", ns(rest.gpu_self_ns)});
  return table;
}

TextTable annotations(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"projected", "GPU time", "backward", "host", "ranges"}, Align::right);
  table.add_column("annotation");
  if (!s.annotations) return table;
  const std::size_t shown = shown_of(*s.annotations, top);
  for (std::size_t i = 0; i < shown; ++i) {
    const trace::AnnotationRow& row = (*s.annotations)[i];
    table.add_row({ns(row.projected_ns), ns(row.gpu_ns), ns(row.backward_ns), ns(row.host_ns),
                   format_tokens(row.count), printable(row.name)});
  }
  add_rest(table, s.annotations->size() - shown, {"", "", "", "", ""});
  return table;
}

TextTable modules(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"forward", "alone", "backward", "calls", "host"}, Align::right);
  table.add_column("module");
  if (!s.modules) return table;
  const std::size_t shown = shown_of(*s.modules, top);
  for (std::size_t i = 0; i < shown; ++i) {
    const trace::ModuleRow& row = (*s.modules)[i];
    table.add_row({ns(row.gpu_ns), ns(row.gpu_self_ns), ns(row.backward_ns),
                   format_tokens(row.count), ns(row.host_ns), printable(row.name)});
  }
  add_rest(table, s.modules->size() - shown, {"", "", "", "", ""});
  return table;
}

TextTable gpu_ranges(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"total", "ranges", "median", "max"}, Align::right);
  table.add_column("range");
  if (!s.gpu_ranges_by_name) return table;
  const std::size_t shown = shown_of(*s.gpu_ranges_by_name, top);
  for (std::size_t i = 0; i < shown; ++i) {
    const trace::TimesByName& row = (*s.gpu_ranges_by_name)[i];
    table.add_row({ns(row.total_ns), format_tokens(row.count), ns(row.median_ns), ns(row.max_ns),
                   printable(row.name)});
  }
  add_rest(table, s.gpu_ranges_by_name->size() - shown, {"", "", "", ""});
  return table;
}

}  // namespace

std::string owners_text(const Summary& s, std::size_t top, const Page& page) {
  constexpr std::size_t kHostOperators = 10;
  return section("Modules", modules(s, top), page) +
         section("Operators by GPU time of their own", operators(s, top, page.columns), page) +
         section("Operators by host time of their own",
                 host_operators(s, std::min(top, kHostOperators)), page) +
         section("Annotations, from the first to the last of what they launched",
                 annotations(s, top), page) +
         section("Ranges on the GPU, gaps included", gpu_ranges(s, top), page);
}

}  // namespace nsa::reports
