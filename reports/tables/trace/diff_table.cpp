#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/reports/units.hpp"
#include "sections.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::DiffRow;
using trace::DiffVerdict;

std::string change(double ratio) { return fmt::format("{:+.1f} %", (ratio - 1) * 100); }

Ink ink_of(DiffVerdict verdict) {
  if (verdict == DiffVerdict::worse) return Ink::bad;
  return verdict == DiffVerdict::better ? Ink::good : Ink::dim;
}

std::string interval(const DiffRow& row) {
  if (!row.ratio) return "-";
  return fmt::format("{} ({} to {})", change(*row.ratio), change(*row.low), change(*row.high));
}

std::string verdict_text(const DiffRow& row) {
  if (row.count_a == 0) return "only in B";
  if (row.count_b == 0) return "only in A";
  return std::string(row.ratio ? to_string(row.verdict) : "too few samples");
}

/// `what` is counted: "calls". The times are sums over all of them; the change is that of a mean,
/// by what is named beside it.
TextTable table_of(const std::string& what) {
  TextTable table;
  table.add_columns({"total A", "total B"}, Align::right);
  for (const char* side : {" A", " B"}) table.add_column(what + side, Align::right);
  table.add_column("change (interval)", Align::right);
  table.add_column("compared");
  table.add_column("verdict");
  table.add_column("");
  return table;
}

void add(TextTable& table, const DiffRow& row) {
  table.add_row({ns(row.total_ns_a), ns(row.total_ns_b), format_tokens(row.count_a),
                 format_tokens(row.count_b), interval(row), "by " + row.unit,
                 Cell{verdict_text(row), ink_of(row.verdict)}, printable(row.name)});
}

/// Each rank's steps, or its verdict alone where none are marked.
TextTable ranks_of(const trace::TraceDiff& diff) {
  TextTable table;
  table.add_column("rank");
  table.add_columns({"steps A", "steps B", "change (interval)"}, Align::right);
  table.add_column("verdict");
  for (const trace::TraceDiff& one : diff.ranks) {
    const auto steps = [&](std::int64_t DiffRow::*count) {
      return one.steps ? format_tokens((*one.steps).*count) : "-";
    };
    table.add_row({std::to_string(*one.rank), steps(&DiffRow::count_a), steps(&DiffRow::count_b),
                   one.steps ? interval(*one.steps) : "-",
                   Cell{std::string(to_string(one.verdict)), ink_of(one.verdict)}});
  }
  return table;
}

/// Rows that say something: not those where nothing changed.
std::string changed(const char* heading, const std::vector<DiffRow>& rows, std::size_t top,
                    const Page& page) {
  TextTable table = table_of("calls");
  std::size_t left_out = 0;
  for (const DiffRow& row : rows) {
    if (row.verdict == DiffVerdict::neutral) continue;
    if (top > 0) {
      add(table, row);
      --top;
    } else {
      ++left_out;
    }
  }
  std::string text = section(heading, std::move(table), page);
  if (left_out > 0) text += fmt::format("  and {} more (--top)\n", left_out);
  return text;
}

}  // namespace

std::string trace_diff_table(const trace::TraceDiff& diff, std::size_t top, Style style,
                             std::size_t columns) {
  const Page page{style, columns};
  std::string text = fmt::format("A: {}\nB: {}\nverdict: {}\n", printable(diff.path_a),
                                 printable(diff.path_b), to_string(diff.verdict));
  for (const std::string& reason : diff.reasons)
    text += "  not comparable: " + printable(reason) + "\n";
  for (const std::string& note : diff.notes) text += "  " + printable(note) + "\n";
  if (!diff.ranks.empty()) {
    text += section("Ranks", ranks_of(diff), page);
    text += fmt::format("  below: rank {}, which changed most\n", *diff.rank);
  }
  if (diff.steps) {
    TextTable table = table_of("steps");
    add(table, *diff.steps);
    text += section("Steps", std::move(table), page);
  }
  text += changed("Stages that differ", diff.stages, top, page);
  text += changed("Kernels that differ", diff.kernels, top, page);
  return text;
}

}  // namespace nsa::reports
