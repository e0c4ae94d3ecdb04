#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/trace/who.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::Summary;

/// The first steps, the worst and the last: as many as the table has room for.
std::vector<std::size_t> shown_steps(const Summary& s, std::size_t top) {
  std::vector<std::size_t> shown;
  const std::size_t count = s.steps->size(), worst = s.step_times->worst;
  for (std::size_t i = 0; i < count; ++i)
    if (i < top || i == worst || i + 1 == count) shown.push_back(i);
  return shown;
}

bool of_several_processes(const std::vector<trace::Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [&](const trace::Step& step) {
    return step.process != steps.front().process;
  });
}

std::string process_name(const Summary& s, const trace::Step& step) {
  return s.clocks ? trace::rank_name(trace::rank_of(s, step.part), step.part)
                  : fmt::format("process {}", step.process);
}

TextTable steps(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_column("step");
  table.add_columns({"host", "device", "waits"}, Align::right);
  add_scope_columns(table);
  if (!s.steps) return table;
  const bool several = of_several_processes(*s.steps);
  std::size_t next = 0;
  for (const std::size_t i : shown_steps(s, top)) {
    if (i > next) table.add_row({more_rows(i - next)});
    next = i + 1;
    const trace::Step& step = (*s.steps)[i];
    std::vector<Cell> cells = step.gpu ? scope_cells(*step.gpu) : std::vector<Cell>{};
    const std::string process = several ? process_name(s, step) + ": " : "";
    cells.insert(cells.begin(),
                 {process + short_name(step.name), ns(step.duration_ns),
                  step.device_ns ? ns(*step.device_ns) : "-", format_tokens(step.host_syncs)});
    table.add_row(std::move(cells));
  }
  return table;
}

/// Which part made the worst step long, and where the steps come from if nobody marked them.
std::string step_times(const Summary& s) {
  if (!s.step_times) return {};
  const trace::StepTimes& t = *s.step_times;
  const auto named = [&, several = of_several_processes(*s.steps)](const trace::Step& step) {
    return (several ? process_name(s, step) + ": " : "") + short_name(step.name);
  };
  std::string text =
      fmt::format("  {}: median {}, p95 {}, worst {} ({})", counted(t.count, "step"),
                  ns(t.median_ns), ns(t.p95_ns), ns(t.worst_ns), named((*s.steps)[t.worst]));
  for (std::size_t i = 0; i < t.causes.size() && i < 3; ++i) {
    if (t.causes[i].more_ns * 100 < t.median_ns) break;
    text += fmt::format("{}{} {}", i == 0 ? "; longer because of " : ", ",
                        time_word(t.causes[i].what), ns(t.causes[i].more_ns));
  }
  if (s.steps->front().source == "repeating_kernels")
    text += fmt::format(
        "\n  No step was marked: these are the longest sequence of kernels that repeats, {} of "
        "them; they may be layers of a step",
        format_tokens(s.steps->front().gpu ? s.steps->front().gpu->kernels : 0));
  return text + "\n";
}

}  // namespace

std::string steps_text(const Summary& s, std::size_t top, const Page& page) {
  return section("Steps", steps(s, top), page) + step_times(s);
}

}  // namespace nsa::reports
