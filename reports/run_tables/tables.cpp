#include "nsa/run_tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"

namespace nsa::run_tables {
namespace {

const Cell* base_of(std::span<const Cell> cells, const std::string& base, std::int64_t seq_len) {
  if (base.empty()) return cells.empty() ? nullptr : &cells.front();
  return find_cell(cells, base, seq_len);
}

/// The speed-up against the base; nothing for the base itself.
std::optional<Estimate> against(const Cell& cell, const Cell* base) {
  if (!base || base == &cell) return std::nullopt;
  return speedup(cell, *base);
}

Json value_json(const std::optional<Estimate>& of) { return of ? Json(of->value) : Json(); }

Json ran_json(const Cell& cell) {
  Json list = Json::array();
  for (const Ran& one : cell.ran) list.push_back(one.stages + "/" + one.variant);
  return list;
}

Json cell_json(const Cell& cell, const Cell* base) {
  const auto step = step_ns(cell), rate = tokens_per_s(cell), ratio = against(cell, base);
  Json json{{"label", cell.asked.label},
            {"seq_len", cell.asked.seq_len},
            {"batch", cell.asked.batch},
            {"setting", setting_text(cell.asked)},
            {"status", to_string(cell.status)},
            {"reason", cell.reason},
            {"tokens_per_step", cell.tokens_per_step},
            {"step_ns", value_json(step)},
            {"step_ns_interval", interval_json(step)},
            {"tokens_per_s", value_json(rate)},
            {"tokens_per_s_interval", interval_json(rate)},
            {"against", base && base != &cell ? Json(base->asked.label) : Json()},
            {"speedup", value_json(ratio)},
            {"speedup_interval", interval_json(ratio)},
            {"workspace_peak_bytes", cell.workspace_peak_bytes},
            {"ran", ran_json(cell)},
            {"slower_because", base ? why_slower(cell, *base) : ""}};
  if (cell.predicted_peak_bytes) json["predicted_peak_bytes"] = *cell.predicted_peak_bytes;
  return json;
}

/// "165.4, predicted 165.9": what training holds at most.
std::string memory_text(const Cell& cell) {
  if (!cell.predicted_peak_bytes) return "-";
  return fmt::format("{:.4g}, predicted {:.4g}",
                     static_cast<double>(cell.workspace_peak_bytes) * 1e-6,
                     static_cast<double>(*cell.predicted_peak_bytes) * 1e-6);
}

}  // namespace

std::string cells_table(std::span<const Cell> cells, const std::string& base,
                        reports::Style style) {
  using reports::Align;
  reports::TextTable table;
  table.add_column("S", Align::right);
  table.add_column("batch", Align::right);
  table.add_column("");
  table.add_column("ms a step", Align::right);
  table.add_column("tok/s, 95 %", Align::right);
  table.add_column(base.empty() ? "against the first" : "against " + base, Align::right);
  const bool training = std::ranges::any_of(
      cells, [](const Cell& cell) { return cell.predicted_peak_bytes.has_value(); });
  if (training) table.add_column("MB at most", Align::right);
  table.add_column("environment or options");
  std::string reasons;
  for (const Cell& cell : cells) {
    const auto step = step_ns(cell);
    const Cell* reference = base_of(cells, base, cell.asked.seq_len);
    const std::string rate = step ? rate_text(tokens_per_s(cell)) : reason_text(cell);
    std::vector<reports::Cell> row{std::to_string(cell.asked.seq_len),
                                   std::to_string(cell.asked.batch),
                                   cell.asked.label,
                                   step ? fmt::format("{:.4g}", step->value * 1e-6) : "-",
                                   rate,
                                   ratio_text(against(cell, reference))};
    if (training) row.emplace_back(memory_text(cell));
    row.emplace_back(setting_text(cell.asked));
    table.add_row(std::move(row));
    const std::string why = reference ? why_slower(cell, *reference) : "";
    if (!why.empty())
      reasons += fmt::format("  S {}, {}: {}\n", cell.asked.seq_len, cell.asked.label, why);
  }
  return table.render(style) + (reasons.empty() ? "" : "slower than the whole:\n" + reasons);
}

Json cells_json(std::span<const Cell> cells, const std::string& base) {
  Json list = Json::array();
  for (const Cell& cell : cells)
    list.push_back(cell_json(cell, base_of(cells, base, cell.asked.seq_len)));
  return list;
}

}  // namespace nsa::run_tables
