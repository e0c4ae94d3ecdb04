#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/trace/who.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Summary;

/// "while the host ..."
std::string host_did(const trace::GapCause& cause) {
  if (cause.what == "launch_unknown") return "(the launch is unknown)";
  return trace::host_did(cause, printable(cause.name));
}

TextTable host_syncs(const Summary& s) {
  TextTable table;
  table.add_column("host waits in");
  table.add_column("for");
  table.add_column("stage");
  table.add_column("calls", Align::right);
  table.add_column("time", Align::right);
  for (const auto& row : s.host_syncs.value_or(std::vector<trace::HostSync>{}))
    table.add_row({short_name(row.api), spaced(row.wait),
                   trace::stage_text(row.stage.value_or("-"), row.stage_inferred),
                   format_tokens(row.count), ns(row.total_ns)});
  return table;
}

/// "train.py:31 (load) 40 of 42": the line with most samples.
std::string most_at(const std::vector<trace::PythonLine>& lines, std::int64_t samples) {
  if (lines.empty()) return {};
  return fmt::format("{} {} of {}", python_line_text(lines.front(), false),
                     format_tokens(lines.front().samples), format_tokens(samples));
}

TextTable gaps(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"idle", "share", "gaps"}, Align::right);
  table.add_column("because of");
  table.add_column("while the host");
  const bool sampled = s.gaps && s.gaps->samples > 0;
  if (sampled) table.add_column("most samples at");
  if (!s.gaps) return table;
  std::int64_t all = 0;
  for (const trace::GapCause& cause : s.gaps->causes) all += cause.total_ns;
  std::size_t shown = 0, rest = 0;
  std::int64_t rest_ns = 0, rest_gaps = 0;
  for (const trace::GapCause& cause : s.gaps->causes) {
    if (shown++ >= top) {
      ++rest;
      rest_ns += cause.total_ns;
      rest_gaps += cause.count;
      continue;
    }
    std::vector<Cell> row{ns(cause.total_ns), share(cause.total_ns, all),
                          format_tokens(cause.count), time_word(cause.idle_class), host_did(cause)};
    if (sampled) row.emplace_back(most_at(cause.lines, cause.samples));
    table.add_row(std::move(row));
  }
  if (rest == 0) return table;
  std::vector<Cell> row{ns(rest_ns), share(rest_ns, all), format_tokens(rest_gaps), "",
                        more_rows(rest)};
  if (sampled) row.emplace_back();
  table.add_row(std::move(row));
  return table;
}

/// Idle time by where in Python the host was.
TextTable idle_lines(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_columns({"samples", "share"}, Align::right);
  table.add_column("because of");
  table.add_column("the host was at");
  if (!s.gaps) return table;
  for (const trace::GapLine& line : s.gaps->lines) {
    if (top-- == 0) break;
    table.add_row({format_tokens(line.at.samples), share(line.at.samples, s.gaps->samples),
                   time_word(line.idle_class), python_line_text(line.at)});
  }
  return table;
}

/// "3.56 ms did nothing that was recorded, 462 us was in aten::select", in about so many columns.
std::string parts_of(const trace::GapRow& gap, std::size_t columns) {
  constexpr std::size_t kLeast = 24, kTime = 11;  // of what it did, and of "3.56 ms " and ", "
  std::vector<const trace::GapCause*> parts;
  for (const trace::GapCause& part : gap.parts)
    if (part.total_ns * 10 >= gap.duration_ns) parts.push_back(&part);  // less is no reason
  if (parts.empty()) return {};
  parts.resize(std::clamp<std::size_t>(columns / (kLeast + kTime), 1, parts.size()));
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {  // what a short one leaves is for those behind
    const std::size_t room = (columns - std::min(columns, display_width(out))) / (parts.size() - i);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", ns(parts[i]->total_ns),
                       shortened(host_did(*parts[i]), room - std::min(room, kTime)));
  }
  return out;
}

/// The longest gaps, with the largest parts of what the host did in each.
TextTable longest_gaps(const Summary& s, std::size_t top, std::size_t columns) {
  constexpr std::size_t kOthers = 38;  // columns before the last
  constexpr std::size_t kLeast = 24;
  const bool sampled = s.gaps && s.gaps->samples > 0;
  std::size_t room = std::max(kLeast, columns - std::min(columns, kOthers));
  if (sampled) room = std::max(kLeast, room / 2);
  TextTable table;
  table.add_column("longest gaps", Align::right);
  table.add_column("at", Align::right);
  table.add_column("device");
  table.add_column("while the host");
  if (sampled) table.add_column("most samples at");
  if (!s.gaps || !s.gpu) return table;
  for (const trace::GapRow& gap : s.gaps->longest) {
    if (top-- == 0) break;
    std::vector<Cell> row{ns(gap.duration_ns), ns(gap.start_ns - s.first_ns),
                          trace::gpu_name(s, gap.part, gap.device), parts_of(gap, room)};
    if (sampled) row.emplace_back(most_at(gap.lines, gap.samples));
    table.add_row(std::move(row));
  }
  return table;
}

/// The means of equal parts of the time as one letter each, from nothing to the largest.
std::string drawn(const std::vector<double>& means) {
  constexpr std::string_view kLevels = " .:-=+*#%@";
  const double most = *std::max_element(means.begin(), means.end());
  std::string out;
  for (const double mean : means) {
    const double level = most > 0 ? mean / most * static_cast<double>(kLevels.size() - 1) : 0;
    const auto least = static_cast<std::size_t>(mean > 0 && level < 1);
    out += kLevels[std::max(least, static_cast<std::size_t>(level))];
  }
  return out;
}

TextTable queue(const Summary& s) {
  TextTable table;
  table.add_column("device");
  table.add_columns({"launches", "waiting", "at most", "none waits"}, Align::right);
  table.add_column("over the time of the device");
  if (!s.queue) return table;
  for (const trace::QueueRow& row : *s.queue) {
    if (row.means.empty()) continue;
    const std::int64_t span = row.bin_ns * static_cast<std::int64_t>(row.means.size());
    table.add_row({trace::gpu_name(s, row.part, row.device), format_tokens(row.launches),
                   fmt::format("{:.3g}", row.mean), format_tokens(row.most),
                   share(std::min(row.empty_ns, span), span), "[" + drawn(row.means) + "]"});
  }
  return table;
}

}  // namespace

std::string host_waits_text(const Summary& s, const Page& page) {
  return section("Waits of the host", host_syncs(s), page);
}

std::string idle_text(const Summary& s, std::size_t top, const Page& page) {
  return section("Idle time", gaps(s, top), page) +
         section("Idle time by lines of Python", idle_lines(s, top), page) +
         section("Longest gaps", longest_gaps(s, top, page.columns), page) +
         section("Launches that wait for a device", queue(s), page);
}

}  // namespace nsa::reports
