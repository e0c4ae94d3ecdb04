// report scaling: how times grow with the length.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "files/database_wait.hpp"
#include "nsa/page/slope.hpp"
#include "nsa/run_tables/grids.hpp"
#include "nsa/run_tables/scaling.hpp"
#include "page/contests.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

using run_tables::ScalingRow;

struct ScalingOptions {
  MeasureOptions measure;
  bool runs = false;
};

void set_slope(ScalingRow& row, const page::Slope& slope) {
  row.slope = slope.slope;
  row.low = slope.low;
  row.high = slope.high;
}

/// One variant of a contest of the page.
ScalingRow row_of(const Json& contest, const Json& variant) {
  ScalingRow row;
  row.device = contest["device"].get<std::string>();
  row.subject =
      fmt::format("{}, {}", contest["class"].get<std::string>(), contest["how"].get<std::string>());
  row.variant = variant["name"].get<std::string>();
  row.axis = contest["axis"].get<std::string>();
  const Json& cells = variant["cells"];
  row.lengths = static_cast<std::int64_t>(cells.size());
  row.shortest = cells.front()[0].get<std::int64_t>();
  row.longest = cells.back()[0].get<std::int64_t>();
  if (const Json& slope = variant["slope"]; row.lengths >= 3 && slope.is_array())
    set_slope(row, {slope[0].get<double>(), slope[1].get<double>(), slope[2].get<double>()});
  return row;
}

std::vector<ScalingRow> rows_of_database(const Settings& settings) {
  const auto db = existing_database(settings);
  std::vector<ScalingRow> rows;
  for (const Json& contest : contests_json(db, settings.device, std::nullopt)) {
    for (const Json& variant : contest["variants"]) rows.push_back(row_of(contest, variant));
  }
  return rows;
}

/// All cells of one label: a point for each process.
ScalingRow row_of_runs(const MeasuredCells& measured, const std::string& label) {
  ScalingRow row;
  const Json& device = measured.subject.device;
  row.device = device.is_null() ? "" : device["name"].get<std::string>();
  row.subject = measured.subject.model + ", forward only, whole passes";
  row.variant = label;
  row.axis = "seq_len";
  std::vector<std::pair<double, double>> points;
  std::set<std::int64_t> lengths;
  for (const run_tables::Cell& cell : measured.cells) {
    if (cell.asked.label != label) continue;
    for (const auto& ns : cell.process_ns) {
      if (!ns) continue;
      points.emplace_back(static_cast<double>(cell.asked.seq_len), *ns);
      lengths.insert(cell.asked.seq_len);
    }
  }
  row.lengths = static_cast<std::int64_t>(lengths.size());
  if (lengths.empty()) return row;
  row.shortest = *lengths.begin();
  row.longest = *lengths.rbegin();
  if (const auto slope = page::log_log_slope(points); slope && lengths.size() >= 3)
    set_slope(row, *slope);
  return row;
}

std::vector<ScalingRow> rows_of_runs(const Settings& settings, const MeasureOptions& o) {
  const std::vector<std::int64_t> lengths =
      o.seq_lens.empty() ? std::vector<std::int64_t>{128, 256, 512, 1024, 2048} : o.seq_lens;
  const MeasuredCells measured =
      measure_cells(settings, o, run_tables::path_grid(lengths, o.batch));
  std::vector<ScalingRow> rows;
  std::set<std::string> seen;
  for (const run_tables::Cell& cell : measured.cells) {
    if (seen.insert(cell.asked.label).second)
      rows.push_back(row_of_runs(measured, cell.asked.label));
  }
  return rows;
}

ExitCode run(const Settings& settings, const ScalingOptions& o) {
  const std::vector<ScalingRow> rows =
      o.runs ? rows_of_runs(settings, o.measure) : rows_of_database(settings);
  if (settings.json) {
    print_json({{"report", "scaling"},
                {"header", nullptr},
                {"cells", Json::array()},
                {"scaling", run_tables::scaling_json(rows)}});
  } else {
    print_fitted(run_tables::scaling_table(rows, settings.style_out()));
  }
  const bool any =
      std::ranges::any_of(rows, [](const ScalingRow& row) { return row.slope.has_value(); });
  return any ? ExitCode::good : ExitCode::nothing_judged;
}

}  // namespace

void add_report_scaling(Program& program, CLI::App& report) {
  auto o = std::make_shared<ScalingOptions>();
  CLI::App* sub = add_table(
      program, report, "scaling",
      "How the time of each variant grows with the length, with an alarm above tokens^1.3",
      "  nsatune sweep quick && nsatune report scaling\n"
      "  nsatune report scaling --runs --seq-lens 128,512,2048   # whole forward passes",
      [&program, o] { return run(program.settings, *o); });
  sub->add_flag("--runs", o->runs,
                "Measure whole forward passes by each path, instead of reading the newest sweep");
  declare(*sub, o->measure);
}

}  // namespace nsa::cli
