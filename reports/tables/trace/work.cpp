#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Summary;

std::string idle(const std::optional<std::int64_t>& value) { return value ? ns(*value) : "-"; }

/// Of the time of a stage: its work, and until that began.
std::string idle_share(const std::optional<std::int64_t>& idle_ns,
                       const std::optional<std::int64_t>& busy_ns) {
  return idle_ns && busy_ns ? share(*idle_ns, *idle_ns + *busy_ns) : "-";
}

std::string mean(std::int64_t sum, std::int64_t count) { return count > 0 ? ns(sum / count) : "-"; }

/// GPU time of inferred stages.
std::int64_t inferred_ns(const Summary& s) {
  std::int64_t sum = 0;
  for (const trace::StageRow& row : s.stages.value_or(std::vector<trace::StageRow>{}))
    if (row.inferred()) sum += row.total_ns;
  return sum;
}

TextTable stages(const Summary& s) {
  TextTable table;
  table.add_column("stage");
  table.add_columns({"GPU time", "share"}, Align::right);
  const bool any_inferred = inferred_ns(s) > 0;
  if (any_inferred) table.add_column("in backward", Align::right);
  table.add_columns({"idle before", "of its time", "kernels", "host syncs", "in syncs"},
                    Align::right);
  if (!s.stages || !s.sums) return table;
  for (const trace::StageRow& row : *s.stages) {
    std::vector<Cell> cells{
        trace::stage_text((row.parent ? *row.parent + "/" : "") + row.stage, row.inferred()),
        ns(row.total_ns), share(row.total_ns, s.sums->op_sum_ns)};
    if (any_inferred) cells.push_back(row.backward_ns ? ns(*row.backward_ns) : "");
    cells.insert(cells.end(),
                 {idle(row.idle_ns), idle_share(row.idle_ns, row.busy_ns),
                  format_tokens(row.kernels), format_tokens(row.host_syncs), ns(row.host_sync_ns)});
    table.add_row(std::move(cells));
  }
  std::vector<Cell> rest{Cell{"unattributed", Ink::dim}, ns(*s.unattributed_ns),
                         share(*s.unattributed_ns, s.sums->op_sum_ns)};
  if (any_inferred) rest.emplace_back("");
  rest.push_back(idle(s.unattributed_idle_ns));
  table.add_row(std::move(rest));
  return table;
}

TextTable copies(const Summary& s) {
  TextTable table;
  table.add_column("copies");
  table.add_column("memory");
  table.add_columns({"count", "bytes", "time", "share", "median GB/s", "best GB/s"}, Align::right);
  if (!s.copies || !s.sums) return table;
  const auto rate = [](const std::optional<double>& value) {
    return value ? rate_text(*value) : "-";
  };
  for (const trace::CopyRow& row : *s.copies)
    table.add_row({row.kind, row.memory.value_or("-"), format_tokens(row.count),
                   format_bytes(row.bytes), ns(row.total_ns),
                   share(row.total_ns, s.sums->op_sum_ns), rate(row.median_gb_per_s),
                   rate(row.best_gb_per_s)});
  return table;
}

/// Where there is room, with what it took to launch them.
TextTable kernels(const Summary& s, std::size_t top, std::size_t columns) {
  TextTable table;
  table.add_column("total", Align::right);
  table.add_column("share", Align::right);
  constexpr std::size_t kRoom = 100;
  const bool launches = columns >= kRoom;
  const bool graphs = launches && s.sums && s.sums->graph_nodes > 0;
  table.add_columns({"count", "median", "max"}, Align::right);
  if (launches) table.add_columns({"launch call", "queued"}, Align::right);
  if (graphs) table.add_column("in graphs", Align::right);
  table.add_column("kernel");
  if (!s.kernels_by_name || !s.sums) return table;
  std::size_t rest = 0;
  std::int64_t rest_ns = 0, rest_count = 0, rest_nodes = 0;
  for (const trace::KernelRow& row : *s.kernels_by_name) {
    if (top == 0) {
      ++rest;
      rest_ns += row.total_ns;
      rest_count += row.count;
      rest_nodes += row.graph_nodes;
      continue;
    }
    --top;
    const std::string mark = row.attention_backend ? "[" + *row.attention_backend + "] " : "";
    std::vector<Cell> cells{ns(row.total_ns), share(row.total_ns, s.sums->kernel_sum_ns),
                            format_tokens(row.count), ns(row.median_ns), ns(row.max_ns)};
    if (launches)
      cells.insert(cells.end(),
                   {mean(row.call_ns, row.launches), mean(row.queue_ns, row.launches)});
    if (graphs) cells.push_back(format_tokens(row.graph_nodes));
    cells.push_back(mark + printable(row.name));
    table.add_row(std::move(cells));
  }
  if (rest == 0) return table;
  std::vector<Cell> sums{ns(rest_ns), share(rest_ns, s.sums->kernel_sum_ns),
                         format_tokens(rest_count), "", ""};
  if (launches) sums.insert(sums.end(), {"", ""});
  if (graphs) sums.emplace_back(format_tokens(rest_nodes));
  sums.push_back(more_rows(rest));
  table.add_row(std::move(sums));
  return table;
}

}  // namespace

std::string stages_text(const Summary& s, const Page& page) {
  std::string text = section("Stages", stages(s), page);
  if (const std::int64_t inferred = inferred_ns(s); inferred > 0)
    text +=
        fmt::format("  inferred: {} of the GPU time, by the order of operators; no name says so\n",
                    share(inferred, s.sums->op_sum_ns));
  return text;
}

std::string copies_text(const Summary& s, const Page& page) {
  return section("Copies and memsets", copies(s), page);
}

std::string kernels_text(const Summary& s, std::size_t top, const Page& page) {
  return section("Kernels by total time", kernels(s, top, page.columns), page);
}

}  // namespace nsa::reports
