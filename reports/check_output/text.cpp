// For people at a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "nsa/check_output/formats.hpp"
#include "nsa/reports/text_table.hpp"
#include "words.hpp"

namespace nsa::check_output {
namespace {

using reports::Ink;
using reports::printable;

constexpr std::size_t kMostLines = 20;  // of one kind
constexpr const char* kMore = "  ... and {} more (--json lists all)\n";

Ink ink_of(const std::string& state) {
  if (state == "confirmed") return Ink::bad;
  if (state == "ok" || state == "improvement" || state == "cleared") return Ink::good;
  return state == "acked" || state == "new" || state == "removed" ? Ink::dim : Ink::warn;
}

/// "  +5.1 % (+4.6 % to +5.7 %)  since 2026-10-25, row 250  abc..def  name"
std::string change_line(const Json& change, const std::string& name) {
  std::string line = fmt::format(
      "  {} ({})  since {}, row {}", size_text(change), interval_text(change),
      printable(change["time"].get<std::string>()), change["index"].get<std::int64_t>());
  if (const std::string commits = commits_text(change); !commits.empty())
    line += "  " + printable(commits);
  return line + "  " + name + "\n";
}

/// Its change, and the reason where that says more.
std::string series_line(const Json& series) {
  const std::string name = printable(series["name"].get<std::string>());
  const std::string reason = printable(series["reason"].get<std::string>());
  const std::string state = series["state"].get<std::string>();
  const Json* change = state_change(series);
  std::string text = change ? change_line(*change, name) : "  " + name + "\n";
  const bool told = change && (state == "confirmed" || state == "improvement" || state == "acked");
  return reason.empty() || told ? text : text + "    " + reason + "\n";
}

std::string state_block(const std::string& state, const std::vector<const Json*>& series,
                        std::size_t groups, reports::Style style) {
  std::string text = inked(state, ink_of(state), style);
  text += fmt::format(": {} series", series.size());
  if (groups > 0 && groups < series.size())
    text += fmt::format(" in {} {}", groups, groups == 1 ? "alert" : "alerts");
  text += "\n";
  const std::size_t shown = std::min(series.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) text += series_line(*series[i]);
  if (shown < series.size()) text += fmt::format(kMore, series.size() - shown);
  return text;
}

std::size_t alerts_of(const Json& document, const std::string& state) {
  const Json& alerts = document["alerts"];
  return static_cast<std::size_t>(std::count_if(
      alerts.begin(), alerts.end(), [&](const Json& a) { return a["state"] == state; }));
}

/// Changes of series that are ok by now: too old for the window, or taken back.
std::string older_changes(const Json& document) {
  std::vector<std::string> lines;
  for (const Json* series : series_in(document, "ok")) {
    for (const Json& change : (*series)["changes"])
      lines.push_back(change_line(change, printable((*series)["name"].get<std::string>())));
  }
  if (lines.empty()) return "";
  std::string text = "earlier changes: " + std::to_string(lines.size()) + "\n";
  const std::size_t shown = std::min(lines.size(), kMostLines);
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (shown < lines.size()) text += fmt::format(kMore, lines.size() - shown);
  return text;
}

}  // namespace

std::string text(const Json& document, reports::Style style) {
  const auto nights = document["nights"].get<std::int64_t>();
  const std::string last = printable(document["last_night"].get<std::string>());
  std::string out =
      fmt::format("{} series, {} {}{}\n", document["series"].size(), nights,
                  nights == 1 ? "night" : "nights", last.empty() ? "" : " to " + last);
  if (const std::string counts = counts_text(document); !counts.empty()) out += counts + "\n";
  for (const std::string& state : told_states()) {
    const std::vector<const Json*> series = series_in(document, state);
    if (!series.empty()) out += state_block(state, series, alerts_of(document, state), style);
  }
  out += older_changes(document);
  if (const auto warming = series_in(document, "warming_up"); !warming.empty())
    out += fmt::format("{}: {} series\n", state_text(*warming.front()), warming.size());
  const int code = document["exit_code"].get<int>();
  const Ink ink = code == 0 ? Ink::good : code == 1 ? Ink::bad : Ink::warn;
  return out + inked(verdict_text(document), ink, style) + fmt::format(" (exit {})\n", code);
}

}  // namespace nsa::check_output
