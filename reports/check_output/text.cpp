// For people at a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "nsa/check_output/formats.hpp"
#include "nsa/reports/text_table.hpp"
#include "words.hpp"

namespace nsa::check_output {
namespace {

using reports::Ink;
using reports::printable;

constexpr std::size_t kMostLines = 20;  // of one kind
constexpr std::size_t kMostMoved = 5;   // of series that their machine moved
constexpr const char* kMore = "  ... and {} more (--json lists all)\n";

Ink ink_of(const std::string& state) {
  if (state == "confirmed") return Ink::bad;
  if (state == "ok" || state == "improvement" || state == "cleared") return Ink::good;
  return state == "acked" || state == "new" || state == "removed" ? Ink::dim : Ink::warn;
}

/// "since 2026-10-25, row 251 (the first is row 1), commits abc..def" of a change or an alert.
std::string since_text(const Json& of) {
  const std::string commits = commits_text(of);
  return fmt::format("since {}, row {}{}", printable(of["time"].get<std::string>()),
                     of["index"].get<std::int64_t>() + 1,
                     commits.empty() ? "" : ", commits " + printable(commits));
}

std::string name_of(const Json& series) { return printable(series["name"].get<std::string>()); }

/// "+5.1 % (+4.6 % to +5.7 %)  name"
std::string size_line(const Json& series) {
  const Json* change = state_change(series);
  if (!change) return name_of(series);
  return fmt::format("{} ({})  {}", size_text(*change), interval_text(*change), name_of(series));
}

/// The first of some lines, and how many more there are.
std::string first_lines(const std::vector<std::string>& lines, std::size_t most) {
  std::string text;
  const std::size_t shown = std::min(lines.size(), most);
  for (std::size_t i = 0; i < shown; ++i) text += "  " + lines[i] + "\n";
  if (shown < lines.size()) text += fmt::format(kMore, lines.size() - shown);
  return text;
}

/// Series that moved together: when, how far each, and for what else than the code the reason once.
std::string alert_block(const Json& alert, const std::vector<const Json*>& series) {
  const bool code = alert["state"] == "confirmed" || alert["state"] == "improvement";
  std::string text = "  " + (alert.contains("time") ? since_text(alert)
                                                    : printable(alert["group"].get<std::string>()));
  if (!code) text += "\n  " + printable((*series.front())["reason"].get<std::string>());
  std::vector<std::string> lines;
  for (const Json* one : series) lines.push_back("  " + size_line(*one));
  return text + "\n" + first_lines(lines, code ? kMostLines : kMostMoved);
}

/// All alerts of a state.
std::string alert_blocks(const Json& document, const std::string& state,
                         const std::vector<const Json*>& series) {
  std::map<std::string, const Json*> by_name;
  for (const Json* one : series) by_name[(*one)["name"].get<std::string>()] = one;
  std::string text;
  for (const Json& alert : document["alerts"]) {
    if (alert["state"] != state) continue;
    std::vector<const Json*> members;
    for (const Json& name : alert["series"]) members.push_back(by_name.at(name.get<std::string>()));
    text += alert_block(alert, members);
  }
  return text;
}

/// Series whose state is their own: each with its reason.
std::string series_lines(const std::vector<const Json*>& series) {
  std::vector<std::string> lines;
  for (const Json* one : series) {
    const std::string reason = (*one)["reason"].get<std::string>();
    lines.push_back(name_of(*one) + (reason.empty() ? "" : ": " + printable(reason)));
  }
  return first_lines(lines, kMostLines);
}

std::string state_block(const Json& document, const std::string& state,
                        const std::vector<const Json*>& series, reports::Style style) {
  const Json& alerts = document["alerts"];
  const auto n = std::count_if(alerts.begin(), alerts.end(),
                               [&](const Json& alert) { return alert["state"] == state; });
  const std::string head =
      inked(state, ink_of(state), style) + fmt::format(": {} series", series.size());
  if (n == 0) return head + "\n" + series_lines(series);
  return fmt::format("{} in {} {}\n{}", head, n, n == 1 ? "alert" : "alerts",
                     alert_blocks(document, state, series));
}

/// Changes of series that are ok by now: too old for the window, or taken back.
std::string older_changes(const Json& document) {
  std::vector<std::string> lines;
  for (const Json* series : series_in(document, "ok")) {
    for (const Json& change : (*series)["changes"])
      lines.push_back(fmt::format("{} ({})  {}  {}", size_text(change), interval_text(change),
                                  since_text(change), name_of(*series)));
  }
  if (lines.empty()) return "";
  return fmt::format("earlier changes: {}\n", lines.size()) + first_lines(lines, kMostLines);
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
    if (!series.empty()) out += state_block(document, state, series, style);
  }
  out += older_changes(document);
  if (const auto warming = series_in(document, "warming_up"); !warming.empty())
    out += fmt::format("{}: {} series\n", state_text(*warming.front()), warming.size());
  const int code = document["exit_code"].get<int>();
  const Ink ink = code == 0 ? Ink::good : code == 1 ? Ink::bad : Ink::warn;
  return out + inked(verdict_text(document), ink, style) + fmt::format(" (exit {})\n", code);
}

}  // namespace nsa::check_output
