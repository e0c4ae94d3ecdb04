#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/trace/who.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

/// As the table of steps has it.
std::string median_step(const trace::Summary& s) {
  return s.step_times ? ns(s.step_times->median_ns) : "-";
}

std::vector<Cell> cells_of(const trace::Summary& s, std::uint32_t part) {
  std::vector<Cell> cells{trace::rank_name(s.rank, part), s.host.value_or("-"),
                          format_tokens(static_cast<std::int64_t>(s.steps ? s.steps->size() : 0)),
                          median_step(s)};
  if (const auto& gpu = s.gpu) {
    const std::int64_t time = gpu->device_ns();
    const double busy =
        time > 0 ? static_cast<double>(gpu->busy_ns) / static_cast<double>(time) : 1;
    for (const std::string& text :
         {ns(gpu->span_ns), format_percent(busy), ns(gpu->compute_ns), ns(gpu->comm_ns),
          ns(gpu->exposed_comm_ns), format_tokens(gpu->kernels)})
      cells.push_back(text);
  } else {
    cells.insert(cells.end(), 6, Cell{"-"});
  }
  cells.push_back(s.path);
  return cells;
}

}  // namespace

std::string clocks_text(const trace::Clocks& clocks) {
  std::string text = clocks.comparable() ? "on one time line: " : "not on one time line: ";
  text += printable(clocks.assumption);
  if (clocks.spread_ns)
    text += fmt::format("; nine of ten of these moments lie no further than {} apart",
                        ns(*clocks.spread_ns));
  return text;
}

std::string trace_ranks_table(const trace::Summary& merged,
                              const std::vector<trace::Summary>& ranks, std::size_t top,
                              Style style, std::size_t columns) {
  TextTable table;
  table.add_column("rank");
  table.add_column("host");
  table.add_columns(
      {"steps", "median step", "span", "busy", "compute", "comm", "exposed", "kernels"},
      Align::right);
  table.add_column("file");
  for (std::size_t part = 0; part < ranks.size(); ++part)
    table.add_row(cells_of(ranks[part], static_cast<std::uint32_t>(part)));
  table.fit(columns - std::min<std::size_t>(columns, 2));
  return inked("Ranks", Ink::bold, style) + "\n" + table.render(style, 2) + "\n" +
         (merged.clocks ? clocks_text(*merged.clocks) + "\n\n" : "") +
         trace_summary_table(merged, top, style, columns);
}

}  // namespace nsa::reports
