#include "tables.hpp"

#include <algorithm>

#include "nsa/run_tables/tables.hpp"

namespace nsa::cli {

CLI::App* add_table(Program& program, CLI::App& report, const char* name, const char* about,
                    const std::string& examples, std::function<ExitCode()> run) {
  return program.add_to(
      report, name, about,
      "Each cell is `nsatune run` in processes of its own. Also: --json --quiet --color --device "
      "--db\n(see nsatune --help). Exit codes: 0; 2 bad input; 3 nothing could be measured\n\n"
      "Examples:\n" +
          examples,
      std::move(run));
}

ExitCode exit_code_of(const std::vector<run_tables::Cell>& cells) {
  const bool any = std::ranges::any_of(
      cells, [](const run_tables::Cell& cell) { return run_tables::step_ns(cell).has_value(); });
  return any ? ExitCode::good : ExitCode::nothing_judged;
}

Json cells_document(const char* report, const MeasuredCells& measured, const std::string& base) {
  return {{"report", report},
          {"header", run_tables::header_json(measured.subject)},
          {"cells", run_tables::cells_json(measured.cells, base)}};
}

}  // namespace nsa::cli
