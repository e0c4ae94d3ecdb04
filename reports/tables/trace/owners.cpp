#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Summary;

TextTable operators(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"GPU alone", "share", "with children", "calls", "host alone", "TFLOP/s"},
                    Align::right);
  table.add_column("operator");
  if (!s.operators || !s.sums) return table;
  for (const trace::OperatorRow& row : *s.operators) {
    if (top-- == 0) break;
    const bool rate = row.flop.value_or(0) > 0 && row.gpu_ns > 0;
    table.add_row(
        {ns(row.gpu_self_ns), share(row.gpu_self_ns, s.sums->op_sum_ns), ns(row.gpu_ns),
         format_tokens(row.count), ns(row.host_self_ns),
         rate ? fmt::format("{:.3g}", 1e-3 * *row.flop / static_cast<double>(row.gpu_ns)) : "-",
         printable(row.name)});
  }
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
  for (const trace::OperatorRow* row : rows) {
    if (top-- == 0) break;
    table.add_row({ns(row->host_self_ns), ns(row->host_ns), format_tokens(row->count),
                   ns(row->host_self_ns / std::max<std::int64_t>(1, row->count)),
                   ns(row->gpu_self_ns), printable(row->name)});
  }
  return table;
}

TextTable annotations(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"projected", "GPU time", "backward", "host", "ranges"}, Align::right);
  table.add_column("annotation");
  for (const auto& row : s.annotations.value_or(std::vector<trace::AnnotationRow>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.projected_ns), ns(row.gpu_ns), ns(row.backward_ns), ns(row.host_ns),
                   format_tokens(row.count), printable(row.name)});
  }
  return table;
}

TextTable modules(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"forward", "alone", "backward", "calls", "host"}, Align::right);
  table.add_column("module");
  for (const auto& row : s.modules.value_or(std::vector<trace::ModuleRow>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.gpu_ns), ns(row.gpu_self_ns), ns(row.backward_ns),
                   format_tokens(row.count), ns(row.host_ns), printable(row.name)});
  }
  return table;
}

TextTable gpu_ranges(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"total", "ranges", "median", "max"}, Align::right);
  table.add_column("range");
  for (const auto& row : s.gpu_ranges_by_name.value_or(std::vector<trace::TimesByName>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.total_ns), format_tokens(row.count), ns(row.median_ns), ns(row.max_ns),
                   printable(row.name)});
  }
  return table;
}

}  // namespace

std::string owners_text(const Summary& s, std::size_t top, const Page& page) {
  constexpr std::size_t kHostOperators = 10;
  return section("Modules", modules(s, top), page) +
         section("Operators by GPU time of their own", operators(s, top), page) +
         section("Operators by host time of their own",
                 host_operators(s, std::min(top, kHostOperators)), page) +
         section("Annotations, from the first to the last of what they launched",
                 annotations(s, top), page) +
         section("Ranges on the GPU, gaps included", gpu_ranges(s, top), page);
}

}  // namespace nsa::reports
