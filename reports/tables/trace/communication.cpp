#include "communication.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/trace/who.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Collectives;

// Named by its namespace: the overload here hides it, and would call itself.
std::string ns(const std::optional<std::int64_t>& value) {
  return value ? reports::ns(*value) : "-";
}
std::string bytes(const std::optional<std::int64_t>& value) {
  return value ? format_bytes(*value) : "-";
}
std::string rate(const std::optional<double>& value, bool at_least) {
  return value ? (at_least ? ">= " : "") + rate_text(*value) : "-";
}

/// "rank 3", or what else tells it from others.
std::string who(const trace::Summary& s, const std::optional<std::int64_t>& rank,
                std::uint32_t part, std::int32_t device) {
  return rank ? trace::rank_name(rank, part) : trace::gpu_name(s, part, device);
}

/// Says how many rows were left out.
void add_rest(TextTable& table, std::size_t all, std::size_t top) {
  if (all > top) table.add_row({more_rows(all - top)});
}

TextTable rows(const Collectives& all, std::size_t top) {
  TextTable table;
  table.add_column("collective");
  table.add_column("by");
  table.add_column("group");
  table.add_columns({"ranks", "bytes", "count", "time", "waiting", "transfer", "spread",
                     "algorithm GB/s", "bus GB/s"},
                    Align::right);
  for (const trace::CollectiveRow& row :
       std::span(all.rows).first(std::min(top, all.rows.size()))) {
    const auto bound = [&](const char* sign, const std::string& text) {
      return row.bounds() ? sign + text : text;
    };
    table.add_row({row.collective, row.transport, row.group.empty() ? "-" : printable(row.group),
                   row.group_size ? std::to_string(*row.group_size) : "-", bytes(row.bytes),
                   format_tokens(row.count), ns(row.total_ns),
                   row.wait_ns ? bound(">= ", ns(row.wait_ns)) : "-",
                   bound("<= ", ns(row.median_transfer_ns.value_or(row.median_ns))),
                   ns(row.median_spread_ns), rate(row.median_algorithm_gb_per_s, row.bounds()),
                   rate(row.median_bus_gb_per_s, row.bounds())});
  }
  add_rest(table, all.rows.size(), top);
  return table;
}

TextTable ranks(const trace::Summary& s, const Collectives& all, std::size_t top) {
  TextTable table;
  table.add_column("waited for");
  table.add_columns({"came last", "of", "late", "waited itself", "in collectives"}, Align::right);
  for (const trace::StragglerRow& row :
       std::span(all.ranks).first(std::min(top, all.ranks.size()))) {
    table.add_row({who(s, row.rank, row.part, row.device), format_tokens(row.last),
                   format_tokens(row.collectives), ns(row.late_ns), ns(row.wait_ns),
                   ns(row.comm_ns)});
  }
  add_rest(table, all.ranks.size(), top);
  return table;
}

TextTable waits(const trace::Summary& s, const Collectives& all) {
  constexpr std::size_t kShown = 3;
  TextTable table;
  table.add_column("longest waits");
  table.add_column("last to come");
  table.add_columns({"at", "bytes", "ranks", "spread", "waiting", "transfer"}, Align::right);
  std::size_t left = kShown;
  for (const trace::CollectiveCall& call : all.longest_waits) {
    if (left-- == 0) break;
    table.add_row({call.collective, who(s, call.last.rank, call.last.part, call.last.device),
                   ns(call.start_ns), bytes(call.bytes), std::to_string(call.ranks),
                   ns(call.spread_ns), ns(call.wait_ns), ns(call.transfer_ns)});
  }
  return table;
}

}  // namespace

std::string communication_text(const trace::Summary& summary, std::size_t top, Style style,
                               std::size_t columns) {
  if (!summary.collectives) return {};
  const Collectives& all = *summary.collectives;
  std::string text = "\n" + inked("Communication between GPUs", Ink::bold, style) + "\n";
  for (TextTable table : {rows(all, top), ranks(summary, all, top), waits(summary, all)}) {
    if (table.empty()) continue;
    table.fit(columns - std::min(columns, kTableIndent));
    text += table.render(style, kTableIndent);
  }
  if (!all.arrivals)
    text += summary.clocks ? "  No collective is known of two ranks: how long they waited for one "
                             "another is not known\n"
                           : "  One rank alone: how long it waited for others is not known\n";
  if (std::ranges::any_of(all.rows, [](const trace::CollectiveRow& row) {
        return row.matched > 0 && row.bounds();
      }))
    text += "  Not all ranks of a group were given: the one that came last may be missing\n";
  if (all.unmatched > 0)
    text += fmt::format("  {} operations could not be told to be of the same collective\n",
                        format_tokens(all.unmatched));
  return text;
}

}  // namespace nsa::reports
