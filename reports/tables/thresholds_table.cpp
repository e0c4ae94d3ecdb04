#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "evidence_text.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"

namespace nsa::reports {
namespace {

std::string joined(const std::vector<std::string>& stages) {
  std::string text;
  for (const std::string& stage : stages) text += (text.empty() ? "" : "+") + stage;
  return text;
}

std::string from_text(const Evidence& evidence) {
  if (!evidence.from_low || !evidence.from_high) return "";
  return fmt::format("{} to {}", *evidence.from_low, *evidence.from_high);
}

std::string note_text(const ThresholdRange& range) {
  std::string text;
  const auto add = [&](std::string_view word) {
    text.append(text.empty() ? "" : ", ").append(word);
  };
  if (range.basis != Basis::measured) add(to_string(range.basis));
  if (range.evidence.unverified) add("unverified");
  if (range.evidence.boards && !range.evidence.boards->dissenting.empty()) add("boards disagree");
  return text;
}

void add_ranges(std::string stage, std::string axis, const std::vector<ThresholdRange>& ranges,
                TextTable& table) {
  for (const ThresholdRange& range : ranges) {
    const Evidence& e = range.evidence;
    table.add_row({std::exchange(stage, ""),
                   std::exchange(axis, ""),
                   range_text(range.from, range.to),
                   {variant_name(range.variant), Ink::good},
                   ratio_text(e),
                   from_text(e),
                   format_percent(e.expected_regret),
                   std::to_string(e.pairs),
                   {note_text(range), Ink::warn}});
  }
}

std::string held_out_text(const ClassDecisions& of) {
  std::string text;
  for (const Decision& decision : of.decisions) {
    if (!decision.held_out) continue;
    const HeldOut& h = *decision.held_out;
    text += fmt::format("  {} at {} held-out {}: regret {} on average, {} at worst (at {})\n",
                        joined(decision.stages), h.lengths, h.lengths == 1 ? "length" : "lengths",
                        format_percent(h.mean_regret), format_percent(h.worst_regret), h.worst_at);
  }
  return text;
}

std::string ranges_text(const ClassDecisions& of, Style style) {
  TextTable table;
  table.add_column("stage");
  table.add_column("axis");
  table.add_column("range");
  table.add_column("variant");
  table.add_column("time against the runner-up");
  table.add_column("from, 95 %");
  table.add_column("regret", Align::right);
  table.add_column("pairs", Align::right);
  table.add_column("note");
  for (const Decision& decision : of.decisions) {
    add_ranges(joined(decision.stages), std::string(to_string(decision.axis)), decision.ranges,
               table);
    if (!decision.alignment) continue;
    add_ranges("", fmt::format("multiples of {}", decision.alignment->multiple),
               decision.alignment->ranges, table);
  }
  return table.render(style, 2);
}

std::string break_even_text(const DenseBreakEven& found) {
  const std::string axis(to_string(found.axis));
  std::string where = "never beats dense up to " + axis + " " + std::to_string(found.largest);
  if (found.from && *found.from > 0) {
    where = "beats dense from " + axis + " " + std::to_string(*found.from) + " on";
  } else if (found.from) {
    where = "beats dense at every measured length";
  }
  return fmt::format("  NSA {}; at {} it takes {} of the time of {}\n", where, found.largest,
                     format_percent(found.ratio_at_largest), printable(found.baseline));
}

void add(std::string& text, const char* name, const FlatValue& value) {
  if (value != FlatValue()) text += fmt::format(" {}={}", name, to_string(value));
}

void add(std::string& text, const char* name, const std::optional<std::int64_t>& value) {
  if (value) text += fmt::format(" {}={}", name, *value);
}

/// Only what is known: what was not measured and a reserve that nobody needed say nothing.
std::string flat_text(const FlatView& flat) {
  std::string text;
  add(text, "sel_ranges_v2_min_s", flat.sel_ranges_v2_min_s);
  add(text, "fa2_min_len_win", flat.fa2_min_len_win);
  add(text, "fa2_min_len_cmp", flat.fa2_min_len_cmp);
  add(text, "sel_varlen_min_l", flat.sel_varlen_min_l);
  add(text, "sel_triton_min_l", flat.sel_triton_min_l);
  add(text, "varlen_reserve_n", flat.varlen_reserve_n);
  add(text, "varlen_reserve_k", flat.varlen_reserve_k);
  add(text, "sel_pack_reserve_n", flat.sel_pack_reserve_n);
  add(text, "sel_pack_reserve_l", flat.sel_pack_reserve_l);
  add(text, "force_sel_mask", flat.force_sel_mask);
  add(text, "use_sel_pack", flat.use_sel_pack);
  add(text, "use_sel_varlen", flat.use_sel_varlen);
  add(text, "p_cmp_mixed", flat.p_cmp_mixed);
  add(text, "gate_compile", flat.gate_compile);
  add(text, "prefill_batched", flat.prefill_batched);
  if (flat.lossy) text += " (lossy: the ranges say more)";
  return "  as switches of other programs:" + (text.empty() ? " nothing was measured" : text) +
         "\n";
}

bool has_undecided(const ThresholdTable& table) {
  const auto undecided = [](const ThresholdRange& range) {
    return range.basis == Basis::undecided;
  };
  return std::ranges::any_of(table.classes, [&](const ClassDecisions& of) {
    return std::ranges::any_of(of.decisions, [&](const Decision& decision) {
      return std::ranges::any_of(decision.ranges, undecided) ||
             (decision.alignment && std::ranges::any_of(decision.alignment->ranges, undecided));
    });
  });
}

/// Why a file does not count as complete; its undecided ranges, where it has any, explain that.
std::string_view limits_of(const ThresholdTable& table) {
  if (table.complete) return "";
  return has_undecided(table) ? ", some ranges undecided" : ", from a run that was cut short";
}

}  // namespace

std::string thresholds_table(const ThresholdTable& table, Style style) {
  std::string text = fmt::format("thresholds of {} for {}{}\n", printable(table.executor),
                                 printable(table.device.name), limits_of(table));
  for (const ClassDecisions& of : table.classes) {
    text += "\n" + inked(to_string(of.problem_class), Ink::bold, style) + "\n";
    text += ranges_text(of, style);
    text += held_out_text(of);
    if (of.dense_break_even) text += break_even_text(*of.dense_break_even);
    // The switches are of forward launches.
    if (of.problem_class.direction == Direction::forward) text += flat_text(of.flat);
  }
  if (table.classes.empty()) text += "no decision\n";
  return text;
}

}  // namespace nsa::reports
