// report eta: how long so many steps take, what they cost, go or no-go.
#include <memory>

#include "nsa/run_tables/eta.hpp"
#include "nsa/run_tables/grids.hpp"
#include "nsa/run_tables/tables.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

struct EtaOptions {
  MeasureOptions measure;
  run_tables::EtaPlan plan;
  std::optional<double> tokens_per_s;  // of a training that ran elsewhere
};

std::int64_t length_of(const EtaOptions& o) {
  return o.measure.seq_lens.empty() ? 2048 : o.measure.seq_lens.front();
}

/// From a rate alone: nothing is measured.
ExitCode print_known(const Settings& settings, const EtaOptions& o) {
  const std::vector<run_tables::Eta> etas{
      run_tables::eta_of_training(*o.tokens_per_s, length_of(o) * o.measure.batch, o.plan)};
  if (settings.json) {
    print_json({{"report", "eta"},
                {"header", nullptr},
                {"cells", Json::array()},
                {"eta", run_tables::eta_json(etas, o.plan)}});
  } else {
    print_fitted(run_tables::eta_table(etas, o.plan, settings.style_out()));
  }
  return ExitCode::good;
}

ExitCode run(const Settings& settings, const EtaOptions& o) {
  if (o.tokens_per_s) return print_known(settings, o);
  const MeasuredCells measured =
      measure_cells(settings, o.measure, run_tables::switch_grid(length_of(o), o.measure.batch));
  const auto etas = run_tables::etas_of(measured.cells, o.plan);
  if (settings.json) {
    Json document = cells_document("eta", measured, "tuned");
    document["eta"] = run_tables::eta_json(etas, o.plan);
    print_json(document);
  } else {
    print_fitted(run_tables::header_text(measured.subject) +
                 run_tables::eta_table(etas, o.plan, settings.style_out()));
  }
  return exit_code_of(measured.cells);
}

}  // namespace

void add_report_eta(Program& program, CLI::App& report) {
  auto o = std::make_shared<EtaOptions>();
  CLI::App* sub = add_table(
      program, report, "eta",
      "Hours and cost of a training run, what a wrong switch adds, go or no-go",
      "  nsatune report eta --steps 50000 --seq-lens 2048 --price 2.5 --device cuda:0\n"
      "  nsatune report eta --tokens-per-s 39 --seq-lens 2048 --batch 2   # a training of yours",
      [&program, o] { return run(program.settings, *o); });
  declare(*sub, o->measure);
  sub->remove_option(sub->get_option("--steps"));
  sub->add_option("--measured-steps", o->measure.steps, "Timed steps (default 3)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  sub->add_option("--steps", o->plan.steps, "Steps of the whole training (default 50000)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  sub->add_option("--limit-hours", o->plan.limit_hours, "Most hours that count as go (default 24)")
      ->check(number_in(1e-6, 1e9));
  sub->add_option("--price", o->plan.price_per_device_hour, "Price of one device per hour")
      ->check(number_in(0.0, 1e9));
  sub->add_option("--devices", o->plan.devices, "Number of devices that cost this (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  sub->add_option("--tokens-per-s", o->tokens_per_s,
                  "Rate of a training run elsewhere; measures nothing")
      ->check(number_in(1e-9, 1e15));
}

}  // namespace nsa::cli
