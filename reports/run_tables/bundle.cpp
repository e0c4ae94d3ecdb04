#include "nsa/run_tables/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nsa/reports/text_table.hpp"
#include "nsa/run_tables/tables.hpp"

namespace nsa::run_tables {
namespace {

std::string setting_or_none(const Cell& cell) {
  const std::string text = setting_text(cell.asked);
  return text.empty() ? "no switch" : "`" + text + "`";
}

std::string preamble(const Bundle& bundle, const char* title) {
  return fmt::format("# {}\n\n- A: {}\n- B: {}\n\n{}\n", title, setting_or_none(bundle.a.cell),
                     setting_or_none(bundle.b.cell), header_text(bundle.subject));
}

reports::TextTable cells_table_of(const Bundle& bundle) {
  reports::TextTable table;
  for (const char* name : {"", "S", "batch", "ms a step", "tok/s, 95 %", "workspace MB"})
    table.add_column(name);
  for (const auto& [name, side] : {std::pair("A", &bundle.a), std::pair("B", &bundle.b)}) {
    const Cell& cell = side->cell;
    const auto step = step_ns(cell);
    table.add_row({name, std::to_string(cell.asked.seq_len), std::to_string(cell.asked.batch),
                   step ? fmt::format("{:.4g}", step->value * 1e-6) : reason_text(cell),
                   rate_text(tokens_per_s(cell)),
                   fmt::format("{:.1f}", static_cast<double>(cell.workspace_peak_bytes) * 1e-6)});
  }
  return table;
}

/// ms in all of a stage by the side's trace; nothing where it did not run.
std::optional<double> stage_ms(const Side& side, const std::string& stage) {
  std::optional<double> ms;
  for (const StageTime& time : side.stages) {
    if (time.stage == stage) ms = ms.value_or(0) + time.self_us * 1e-3;
  }
  return ms;
}

std::string stages_markdown(const Bundle& bundle) {
  if (bundle.a.stages.empty() || bundle.b.stages.empty())
    return "No wall times by stage: " + bundle.a.no_trace + "\n";
  std::set<std::string> stages;
  for (const Side* side : {&bundle.a, &bundle.b}) {
    for (const StageTime& time : side->stages) stages.insert(time.stage);
  }
  reports::TextTable table;
  for (const char* name : {"stage", "A, ms in all", "B, ms in all", "A / B"})
    table.add_column(name);
  for (const std::string& stage : stages) {
    const auto a = stage_ms(bundle.a, stage), b = stage_ms(bundle.b, stage);
    table.add_row({stage, a ? fmt::format("{:.3f}", *a) : "-", b ? fmt::format("{:.3f}", *b) : "-",
                   a && b && *b > 0 ? fmt::format("{:.2f}x", *a / *b) : "-"});
  }
  return table.markdown();
}

/// "- `stages/variant`: sentence" for what `one` ran and `other` did not.
std::string differing(const Bundle& bundle, const Cell& one, const Cell& other) {
  std::string lines;
  for (const Ran& ran : one.ran) {
    if (std::ranges::find(other.ran, ran) != other.ran.end()) continue;
    const std::string name = ran.stages + "/" + ran.variant;
    const auto what = bundle.what.find(name);
    lines += fmt::format("- `{}`: {}\n", name, what == bundle.what.end() ? "" : what->second);
  }
  return lines.empty() ? "- nothing\n" : lines;
}

}  // namespace

std::string verdict_text(const Bundle& bundle) {
  const auto ratio = speedup(bundle.b.cell, bundle.a.cell);
  if (!ratio) return "A and B were not both measured";
  return fmt::format("B is {} as fast as A", ratio_text(ratio));
}

std::string before_after_markdown(const Bundle& bundle) {
  return preamble(bundle, "Before and after") + cells_table_of(bundle).markdown() + "\n" +
         verdict_text(bundle) + ".\n\n## By stage\n\n" + stages_markdown(bundle);
}

std::string design_note_markdown(const Bundle& bundle) {
  return preamble(bundle, "Design note") + "## What A runs and B does not\n\n" +
         differing(bundle, bundle.a.cell, bundle.b.cell) + "\n## What B runs and A does not\n\n" +
         differing(bundle, bundle.b.cell, bundle.a.cell) +
         fmt::format(
             "\n## What that gives\n\n{} at {} tokens.\n\n## Is it the same answer?\n\n"
             "Each row was compared with the fp64 reference when it was built "
             "(`ctest -R kernels`); on this machine `nsatune sweep` does it before it times "
             "a row, and marks one that is wrong.\n",
             verdict_text(bundle), bundle.a.cell.asked.seq_len);
}

std::string runbook_markdown(const Bundle& bundle, const Commands& commands) {
  const auto block = [](const std::string& text) { return "```\n" + text + "\n```\n\n"; };
  return preamble(bundle, "Runbook") + "Run B:\n\n" + block(commands.b) + "Back to A:\n\n" +
         block(commands.a) + "See who decides what:\n\n" +
         block(fmt::format("nsatune explain --seq-len {}", bundle.b.cell.asked.seq_len)) +
         "Expected rates of your device, and an exit code for CI:\n\n" +
         block("nsatune report targets targets.yaml\nnsatune check --targets targets.yaml") +
         "Links between GPUs play no part here: one device was measured. Bands for PCIe and NVLink "
         "go into the targets file, with `devices: 2`.\n\nThis bundle again:\n\n" +
         block(commands.again);
}

}  // namespace nsa::run_tables
