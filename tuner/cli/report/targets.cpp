// report targets: expected rates against measured ones.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cells/measured_rates.hpp"
#include "device_choice.hpp"
#include "nsa/probes/probes.hpp"
#include "tables.hpp"
#include "targets_file.hpp"

namespace nsa::cli {
namespace {

using run_tables::MeasuredRate;
using run_tables::Target;

struct TargetsOptions {
  MeasureOptions measure;
  std::optional<std::string> file;
  bool measured = false;  // now, instead of before
};

/// The targets that this device can answer with a forward pass.
std::vector<Target> measurable(const std::vector<Target>& targets, const std::string& device) {
  std::vector<Target> found;
  std::ranges::copy_if(targets, std::back_inserter(found), [&](const Target& target) {
    return target.direction == "forward" && target.devices == 1 &&
           run_tables::names_device(target.device, device);
  });
  return found;
}

/// What one process a target and round gives.
std::vector<MeasuredRate> measure(const Settings& settings, const MeasureOptions& options,
                                  const std::vector<Target>& targets) {
  const std::string device = chosen_device(settings).name;
  std::vector<MeasuredRate> rates;
  for (const Target& target : measurable(targets, device)) {
    MeasureOptions o = options;
    o.preset = target.model;
    const MeasuredCells measured = measure_cells(
        settings, o,
        {{target.model, target.seq_len, target.batch.value_or(options.batch), {}, {}}});
    const run_tables::Cell& cell = measured.cells.front();
    if (const auto rate = run_tables::tokens_per_s(cell))
      rates.push_back({.device = device,
                       .model = target.model,
                       .seq_len = target.seq_len,
                       .batch = cell.asked.batch,
                       .direction = "forward",
                       .tokens_per_s = *rate,
                       .origin = measured.subject.dtype + ", measured now",
                       .day = now_iso8601().substr(0, 10)});
  }
  return rates;
}

/// What there is without measuring; no database is nothing, where nobody named one.
std::vector<MeasuredRate> known_rates(const Settings& settings) {
  if (!settings.db && !std::getenv("NSATUNE_DB") && !std::filesystem::exists(settings.db_path()))
    return {};
  return measured_rates(settings);
}

ExitCode run(const Settings& settings, const TargetsOptions& o) {
  const std::vector<Target> targets =
      o.file ? load_targets(*o.file) : run_tables::reported_targets();
  const auto judged = run_tables::judge_targets(
      targets, o.measured ? measure(settings, o.measure, targets) : known_rates(settings));
  print_targets(settings, judged, o.file.value_or(""));
  return run_tables::exit_code_of(judged) == 3 ? ExitCode::nothing_judged : ExitCode::good;
}

}  // namespace

void add_report_targets(Program& program, CLI::App& report) {
  auto o = std::make_shared<TargetsOptions>();
  CLI::App* sub = add_table(
      program, report, "targets",
      "Expected tokens per second against what was measured: gap, pass or fail",
      "  nsatune report targets                        # what users of NSA were told to expect\n"
      "  nsatune report targets targets.yaml --measure --device cuda:0\n"
      "  nsatune check --targets targets.yaml          # the same with an exit code for CI\n\n"
      "A target of training is never judged by a forward pass, nor the other way round.",
      [&program, o] { return run(program.settings, *o); });
  sub->add_option("FILE", o->file,
                  "Targets, JSON or YAML (default: targets from users' reports, all unverified)");
  sub->add_flag("--measure", o->measured,
                "Measure the targets of this device now, instead of reading the database");
  declare(*sub, o->measure);
  for (const char* flag : {"--preset", "--config", "--seq-lens"})
    sub->remove_option(sub->get_option(flag));
}

}  // namespace nsa::cli
