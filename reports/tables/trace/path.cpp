#include "path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::CriticalPath;

constexpr double kShownShare = .002;  // of the path: less is noise

double part_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string part_text(const trace::PathPart& part) {
  const std::string name = printable(part.name);
  if (part.what == "host")
    return name.empty() ? "host: nothing that was recorded" : "host: " + name;
  if (part.what == "launch") return "launching, by " + name;
  if (part.what == "api") return "call: " + name;
  if (part.what == "host_wait") return "returning from " + name;
  if (part.what == "between_operations") return "between two operations";
  return part.what == "kernel" ? name : part.what + ": " + name;
}

TextTable parts(const CriticalPath& path, std::size_t top) {
  TextTable table;
  table.add_columns({"on the path", "share", "pieces"}, Align::right);
  table.add_column("critical path");
  std::size_t rest = 0;
  std::int64_t rest_ns = 0, rest_pieces = 0;
  for (const trace::PathPart& part : path.parts) {
    const double of = part_of(part.total_ns, path.length_ns);
    if (top == 0 || of < kShownShare) {
      ++rest;
      rest_ns += part.total_ns;
      rest_pieces += part.count;
      continue;
    }
    --top;
    table.add_row(
        {ns(part.total_ns), format_percent(of), format_tokens(part.count), part_text(part)});
  }
  if (rest > 0 && !table.empty())
    table.add_row({ns(rest_ns), format_percent(part_of(rest_ns, path.length_ns)),
                   format_tokens(rest_pieces), more_rows(rest)});
  return table;
}

TextTable gains(const CriticalPath& path, std::size_t top) {
  TextTable table;
  table.add_columns({"shorter by", "share", "a step", "takes now"}, Align::right);
  table.add_column("if this took no time");
  for (const trace::WhatIf& one : path.what_if) {
    const double of = part_of(one.gain_ns, path.length_ns);
    if (top-- == 0 || of < kShownShare) break;
    const std::string by = one.at_least ? "at least " : "";
    table.add_row({by + ns(one.gain_ns), format_percent(of),
                   path.steps > 1 ? ns(one.gain_ns / path.steps) : "-", ns(one.total_ns),
                   what_if_text(one)});
  }
  return table;
}

/// Where in Python the host is while the path is at it.
TextTable lines(const CriticalPath& path, std::size_t top) {
  TextTable table;
  table.add_columns({"samples", "share"}, Align::right);
  table.add_column("the host on the path was at");
  for (const trace::PythonLine& line : path.lines) {
    if (top-- == 0) break;
    table.add_row({format_tokens(line.samples), format_percent(part_of(line.samples, path.samples)),
                   python_line_text(line)});
  }
  return table;
}

}  // namespace

std::string what_if_text(const trace::WhatIf& one) {
  std::string name = printable(one.name);
  if (one.what == "kernel") return name;
  if (one.what == "python_line") return "what the host does at " + name;
  if (!name.empty()) return "waits in " + name;
  for (const trace::WhatIfKind& kind : trace::kWhatIfKinds)
    if (kind.what == one.what) return std::string(kind.words);
  return printable(one.what);
}

std::string critical_path_text(const trace::Summary& summary, std::size_t top, Style style,
                               std::size_t columns) {
  if (!summary.critical_path) return {};
  const CriticalPath& path = *summary.critical_path;
  std::string text = "\n" + inked("Critical path", Ink::bold, style) + "\n";
  for (TextTable table : {parts(path, top), lines(path, top), gains(path, top)}) {
    if (table.empty()) continue;
    table.fit(columns - std::min(columns, kTableIndent));
    text += table.render(style, kTableIndent);
  }
  return text + fmt::format(
                    "  {} long{}; gains do not add up{}\n", ns(path.length_ns),
                    path.steps > 1 ? fmt::format(", {} steps", path.steps) : "",
                    path.events == "inferred" ? "; which stream waits for which was inferred" : "");
}

}  // namespace nsa::reports
