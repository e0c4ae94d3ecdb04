#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/text.hpp"
#include "results.hpp"

namespace nsa::reports {
namespace {

std::string stages_text(const VariantId& id) {
  const std::string text = to_string(id);
  return text.substr(0, text.rfind('/'));
}

std::string name_text(const Result& result) {
  const std::string text = to_string(result.first->variant);
  const std::string name = text.substr(text.rfind('/') + 1);
  return result.first->executor == kOwnExecutor ? name : name + " (" + result.first->executor + ")";
}

Cell time_cell(const Result& result) {
  if (result.median_ns) return {format_ns(*result.median_ns), result.best ? Ink::good : Ink::plain};
  if (result.verification == Verification::wrong_result)
    return {std::string(to_string(result.verification)), Ink::bad};
  return {std::string(to_string(result.outcome)),
          result.outcome == Outcome::unsupported || result.outcome == Outcome::not_built
              ? Ink::dim
              : Ink::bad};
}

std::string spread_text(const Result& result) {
  if (!result.median_ns || !result.mad_ns) return "";
  return format_percent(*result.mad_ns / *result.median_ns);
}

std::string interval_text(const std::optional<Ratio>& ratio) {
  if (!ratio || !ratio->low) return "";
  return format_interval(*ratio->low, *ratio->high);
}

std::string rate_text(const Result& result) {
  const double flop = result.first->cost.flop;
  if (!result.median_ns || !(flop > 0)) return "";
  return format_flop_per_s(flop / (*result.median_ns * 1e-9));
}

/// Without what the row says itself.
std::string reason_text(const Result& result) {
  const std::string known = "while measuring " + to_string(result.first->variant) + ": ";
  return result.reason.starts_with(known) ? result.reason.substr(known.size()) : result.reason;
}

/// What a reader must know before they believe the time. A terminal wraps it.
Cell note_cell(const Result& result) {
  constexpr std::size_t kMostColumns = 200;
  const bool wrong = result.verification == Verification::wrong_result;
  std::string note = result.role;
  const auto add = [&](const std::string& text, const char* separator) {
    if (!text.empty()) note += (note.empty() ? "" : separator) + text;
  };
  if (result.median_ns && wrong) add("wrong result", ", ");
  if (result.median_ns && result.verification == Verification::unverified) add("unverified", ", ");
  add(reason_text(result), "; ");
  add(result.note, "; ");
  const Ink ink = wrong ? Ink::bad : result.role.empty() ? Ink::dim : Ink::warn;
  return {shortened(printable(note), kMostColumns), ink};
}

TextTable new_table() {
  TextTable table;
  table.add_column("length", Align::right);
  table.add_column("");
  table.add_column("variant");
  table.add_column("median", Align::right);
  table.add_column("spread", Align::right);
  table.add_column("vs best", Align::right);
  table.add_column("95 %");
  table.add_column("rate", Align::right);
  table.add_column("n", Align::right);
  table.add_column("verified");
  table.add_column("note");
  return table;
}

void add(TextTable& table, const Result& result, bool first_of_problem) {
  const bool verified = result.verification == Verification::verified && result.median_ns;
  table.add_row({first_of_problem ? length_text(result.first->problem) : "",
                 {result.chosen ? "*" : "", Ink::good},
                 {name_text(result), result.chosen ? Ink::good : Ink::plain},
                 time_cell(result),
                 spread_text(result),
                 result.ratio ? format_ratio(result.ratio->median) : "",
                 interval_text(result.best ? std::nullopt : result.ratio),
                 rate_text(result),
                 result.samples_n > 0 ? std::to_string(result.samples_n) : "",
                 verified ? "yes" : "",
                 note_cell(result)});
}

std::string block_title(const Result& result) {
  return stages_text(result.first->variant) + "  " + to_string(class_of(result.first->problem));
}

}  // namespace

std::string results_table(const std::vector<Measurement>& rows, Style style, const RoleOf& role,
                          const ChosenOf& chosen) {
  const std::vector<Result> results = summarise(rows, role, chosen);
  std::string text;
  for (std::size_t from = 0, to = 0; from < results.size(); from = to) {
    const std::string title = block_title(results[from]);
    TextTable table = new_table();
    for (; to < results.size() && block_title(results[to]) == title; ++to) {
      const bool same = to > from && results[to].first->problem == results[to - 1].first->problem;
      add(table, results[to], !same);
    }
    if (!text.empty()) text += "\n";
    text += inked(printable(title), Ink::bold, style) + "\n" + table.render(style, 2);
  }
  return text.empty() ? "no measurements\n" : text;
}

Json results_json(const std::vector<Measurement>& rows, const RoleOf& role,
                  const ChosenOf& chosen) {
  Json list = Json::array();
  for (const Result& result : summarise(rows, role, chosen)) {
    const Measurement& first = *result.first;
    Json row{{"problem", first.problem},
             {"stages", first.variant.stages},
             {"executor", first.executor},
             {"variant", to_string(first.variant)},
             {"outcome", to_string(result.outcome)},
             {"verification", to_string(result.verification)},
             {"samples_n", result.samples_n},
             {"chosen", result.chosen}};
    if (!first.placement.empty()) row["device_uuid"] = first.placement[0].device_uuid;
    if (!result.reason.empty()) row["reason"] = printable(result.reason);
    if (!result.note.empty()) row["note"] = printable(result.note);
    if (result.median_ns) row["median_ns"] = *result.median_ns;
    if (result.mad_ns) row["mad_ns"] = *result.mad_ns;
    if (result.ratio) row["ratio"] = result.ratio->median;
    if (result.ratio && result.ratio->low) row["ratio_low"] = *result.ratio->low;
    if (result.ratio && result.ratio->high) row["ratio_high"] = *result.ratio->high;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace nsa::reports
