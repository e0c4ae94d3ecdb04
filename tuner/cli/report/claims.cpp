// report claims: what was expected of each optimisation, and what it gives.
#include <memory>

#include "ladder_sweep.hpp"
#include "nsa/run_tables/claims.hpp"
#include "nsa/run_tables/grids.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

/// From a sweep that was made before; nothing is measured.
ExitCode run_of_sweep(const Settings& settings, const std::string& run) {
  const LadderOfSweep ladder = ladder_of_sweep(settings, run);
  const auto claims = run_tables::claims_of(ladder.cells);
  if (settings.json) {
    MeasuredCells measured;
    measured.cells = ladder.cells;
    Json document = cells_document("claims", measured, "baseline");
    document["claims"] = run_tables::claims_json(claims);
    print_json(document);
  } else {
    print_text(ladder.about + run_tables::claims_table(claims, settings.style_out()));
  }
  return exit_code_of(ladder.cells);
}

ExitCode run(const Settings& settings, const MeasureOptions& o) {
  const std::vector<std::int64_t> lengths =
      o.seq_lens.empty() ? std::vector<std::int64_t>{512, 2048} : o.seq_lens;
  const MeasuredCells measured =
      measure_cells(settings, o, run_tables::ladder_grid(lengths, o.batch));
  const auto claims = run_tables::claims_of(measured.cells);
  if (settings.json) {
    Json document = cells_document("claims", measured, "baseline");
    document["claims"] = run_tables::claims_json(claims);
    print_json(document);
  } else {
    print_text(run_tables::header_text(measured.subject) +
               run_tables::claims_table(claims, settings.style_out()));
  }
  return exit_code_of(measured.cells);
}

}  // namespace

void add_report_claims(Program& program, CLI::App& report) {
  auto o = std::make_shared<MeasureOptions>();
  auto sweep = std::make_shared<std::string>();
  CLI::App* sub = add_table(
      program, report, "claims",
      "One optimisation after the other: the gain that was claimed and the one that is measured",
      "  nsatune report claims --device cuda:0\n"
      "  nsatune report claims --seq-lens 512 --processes 5 --json\n"
      "  nsatune sweep ladder && nsatune report claims --sweep newest   # stage by stage",
      [&program, o, sweep] {
        return sweep->empty() ? run(program.settings, *o) : run_of_sweep(program.settings, *sweep);
      });
  declare(*sub, *o);
  sub->add_option(
      "--sweep", *sweep,
      "Measure nothing: times of a sweep of the preset ladder, newest or the id of a run");
}

}  // namespace nsa::cli
