#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "evidence_text.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/reports/variants_text.hpp"
#include "nsa/schemas/text.hpp"
#include "results.hpp"

namespace nsa::reports {
namespace {

std::string heading(const ExplainReport& r) {
  std::string text = fmt::format("device   {} ({})", printable(r.device.name), r.device.id);
  if (!r.table_path.empty()) text += fmt::format(", fit of the file: {}", to_string(r.device_fit));
  text += "\n";
  text += fmt::format("problem  {}, length {}\n", to_string(class_of(r.problem)),
                      length_text(r.problem));
  return text +
         fmt::format("file     {}\n", r.table_path.empty() ? "none" : printable(r.table_path));
}

bool is_tuned(Source source) { return source == Source::thresholds || source == Source::shipped; }

/// How well the decision fits, where it does not fit exactly.
Cell fit_cell(const Explanation& e) {
  std::string text;
  const auto add = [&](std::string_view word) {
    text.append(text.empty() ? "" : ", ").append(word);
  };
  if (is_tuned(e.source)) {
    if (e.fit != Fit::exact) add(to_string(e.fit));
    if (e.device_fit != DeviceFit::exact) add(to_string(e.device_fit));
  }
  if (e.basis && *e.basis != Basis::measured) add(to_string(*e.basis));
  if (e.stale) add("stale");
  if (e.slow_path) add("slow path");
  return {text, Ink::warn};
}

std::string evidence_text(const Explanation& e) {
  if (!e.evidence) return "";
  if (!e.evidence->why.empty()) return e.evidence->why;
  return fmt::format("{}; {}, regret {}", ratio_text(*e.evidence),
                     counted(e.evidence->pairs, "pair"),
                     format_percent(e.evidence->expected_regret));
}

/// The "NAME=value" pieces of what the environment made decide, as routing joins them.
std::vector<std::string_view> settings_of(std::string_view why) {
  std::vector<std::string_view> settings;
  for (std::size_t at; (at = why.find("NSA_")) != why.npos;) {
    why.remove_prefix(at);
    const std::size_t end = std::min(why.find(", NSA_"), why.size());
    settings.push_back(why.substr(0, end));
    why.remove_prefix(end);
  }
  return settings;
}

/// The origin of a setting, or nullptr where it is the environment's own.
const std::string* origin_of(std::string_view setting, const ConfigOrigins& origins) {
  const auto found = origins.find(setting.substr(0, setting.find('=')));
  return found == origins.end() ? nullptr : &found->second;
}

std::string decided_by(const Explanation& e, const ConfigOrigins& origins) {
  const auto settings = settings_of(e.source == Source::environment ? e.why : std::string_view());
  const bool of_config =
      !settings.empty() && std::ranges::all_of(settings, [&](std::string_view setting) {
        return origin_of(setting, origins) != nullptr;
      });
  return of_config ? "config" : std::string(to_string(e.source));
}

std::string decisions_text(const ExplainReport& r, Style style, const ConfigOrigins& origins) {
  TextTable table;
  table.add_column("stage");
  table.add_column("at");
  table.add_column("runs");
  table.add_column("decided by");
  table.add_column("because");
  table.add_column("fit");
  table.add_column("evidence");
  for (const Explanation& e : r.decisions) {
    table.add_row({stages_text(e.stages),
                   fmt::format("{} {}", to_string(e.axis), e.axis_value),
                   {e.variant.substr(e.variant.rfind('/') + 1), Ink::good},
                   decided_by(e, origins),
                   e.why,
                   fit_cell(e),
                   evidence_text(e)});
  }
  return table.render(style);
}

std::string overrides_text(const ExplainReport& r, Style style) {
  std::string text;
  for (const Explanation& e : r.decisions) {
    if (e.overridden) {
      const std::string cost = e.override_cost
                                   ? "takes " + format_ratio(*e.override_cost) + " of its time"
                                   : std::string("at a cost that was not measured");
      text +=
          inked(fmt::format("override: {}: {} replaces {}{}, {}\n", stages_text(e.stages),
                            printable(e.variant), is_tuned(e.overridden_source) ? "the tuned " : "",
                            printable(*e.overridden), cost),
                Ink::warn, style);
    }
    if (e.fallback_reason) {
      text += inked(
          fmt::format("not met: {}: {}\n", stages_text(e.stages), printable(*e.fallback_reason)),
          Ink::warn, style);
    }
  }
  return text;
}

std::string names_text(const ExplainReport& r, Style style, const ConfigOrigins& origins) {
  if (r.names.empty()) return "";
  TextTable table;
  table.add_column("variable");
  table.add_column("value");
  if (!origins.empty()) table.add_column("set by");
  table.add_column("effect");
  for (const NameEffect& name : r.names) {
    std::vector<Cell> cells{name.name, name.value};
    const std::string* origin = origin_of(name.name, origins);
    if (!origins.empty()) cells.emplace_back(origin ? *origin : "environment");
    cells.push_back({name.reason, name.effective ? Ink::plain : Ink::dim});
    table.add_row(std::move(cells));
  }
  return "\n" + table.render(style);
}

std::string validators_text(const ExplainReport& r, Style style) {
  std::string text;
  for (const ValidatorCheck& check : r.validators) {
    if (check.holds != Holds::no) continue;
    text += inked(fmt::format("validator: {} was {}, here it is {}\n", check.name,
                              printable(check.recorded), printable(check.here)),
                  Ink::warn, style);
  }
  return text;
}

std::string differences_text(const ExplainReport& r, Style style) {
  std::string text;
  for (const Explanation& e : r.decisions) {
    if (!e.evidence || !e.evidence->boards) continue;
    const Ink ink = e.evidence->boards->dissenting.empty() ? Ink::plain : Ink::warn;
    text += inked(fmt::format("boards: {}: {}\n", stages_text(e.stages), boards_text(*e.evidence)),
                  ink, style);
  }
  return text;
}

std::string reserves_text(const Reserves& r) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) text += fmt::format(" {}={}", name, *value);
  };
  add("varlen_reserve_n", r.varlen_reserve_n);
  add("varlen_reserve_k", r.varlen_reserve_k);
  add("sel_pack_reserve_n", r.sel_pack_reserve_n);
  add("sel_pack_reserve_l", r.sel_pack_reserve_l);
  return text.empty() ? "" : "reserves:" + text + "\n";
}

/// What is said of the variants whose names begin it, or what stands alone.
struct Reason {
  std::vector<std::string_view> names;
  std::string_view what;
};

/// Reasons that routing has joined, each once: those that differ only in the variant's name, their
/// first word, become one.
std::string said_once(std::string_view reasons) {
  constexpr std::string_view kNext = "; ";
  std::vector<Reason> found;
  while (!reasons.empty()) {
    const std::string_view piece = reasons.substr(0, reasons.find(kNext));
    reasons.remove_prefix(std::min(piece.size() + kNext.size(), reasons.size()));
    const std::size_t space = std::min(piece.find(' '), piece.size());
    const std::string_view name = piece.substr(0, space), what = piece.substr(space);
    const auto same = std::ranges::find(found, what, &Reason::what);
    if (same == found.end())
      found.push_back({{name}, what});
    else if (std::ranges::find(same->names, name) == same->names.end())
      same->names.push_back(name);
  }
  std::string text;
  for (const Reason& reason : found) {
    if (!text.empty()) text += kNext;
    text += fmt::format("{}{}{}", fmt::join(reason.names, ", "), reason.names.size() > 1 ? ":" : "",
                        reason.what);
  }
  return text;
}

}  // namespace

ExplainReport with_origins(ExplainReport report, const ConfigOrigins& origins) {
  for (Explanation& e : report.decisions) {
    if (e.source != Source::environment) continue;
    std::string why;
    std::string_view rest = e.why;
    for (const std::string_view setting : settings_of(e.why)) {
      const std::size_t end = rest.find(setting) + setting.size();
      why += rest.substr(0, end);
      if (const std::string* origin = origin_of(setting, origins)) why += " (" + *origin + ")";
      rest.remove_prefix(end);
    }
    e.why = why + std::string(rest);
  }
  return report;
}

ExplainReport with_reasons_once(ExplainReport report) {
  constexpr std::string_view kNone = "no variant runs this: ";
  for (Explanation& e : report.decisions) {
    if (e.why.starts_with(kNone))
      e.why = std::string(kNone) + said_once(std::string_view(e.why).substr(kNone.size()));
  }
  return report;
}

std::string explain_text(const ExplainReport& report, Style style, const ConfigOrigins& origins) {
  std::string text = heading(report) + "\n" + decisions_text(report, style, origins);
  const std::string remarks = overrides_text(report, style) + validators_text(report, style) +
                              differences_text(report, style) + reserves_text(report.reserves);
  if (!remarks.empty()) text += "\n" + remarks;
  text += names_text(report, style, origins);
  for (const std::string& warning : report.warnings) {
    text += inked("warning: " + printable(warning), Ink::warn, style) + "\n";
  }
  return text;
}

}  // namespace nsa::reports
