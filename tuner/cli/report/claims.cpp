// report claims: what was expected of each optimisation, and what it gives.
#include <memory>

#include "nsa/run_tables/claims.hpp"
#include "nsa/run_tables/grids.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

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
               run_tables::claims_table(claims, {.color = settings.color_out()}));
  }
  return exit_code_of(measured.cells);
}

}  // namespace

void add_report_claims(Program& program, CLI::App& report) {
  auto o = std::make_shared<MeasureOptions>();
  CLI::App* sub = add_table(
      program, report, "claims",
      "One optimisation after the other: the gain that was claimed and the one that is measured",
      "  nsatune report claims --device cuda:0\n"
      "  nsatune report claims --seq-lens 512 --processes 5 --json\n"
      "  nsatune sweep ladder && nsatune report results   # the same switches, stage by stage",
      [&program, o] { return run(program.settings, *o); });
  declare(*sub, *o);
}

}  // namespace nsa::cli
