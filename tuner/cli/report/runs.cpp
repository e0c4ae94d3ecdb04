#include "tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "files/database_wait.hpp"
#include "nsa/reports/run_result_text.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/store/store.hpp"
#include "nsa/tuner/compare_runs.hpp"
#include "sweep/choices.hpp"

namespace nsa::cli {
namespace {

/// A run by its id or the first digits of it.
Run find_run(const store::Store& db, const std::string& id, const Settings& settings) {
  const auto run = db.find_run(id);
  if (!run)
    throw InputError(
        fmt::format("{}: no run {}; nsatune db info lists them", settings.db_path(), id));
  return *run;
}

/// "2026-11-23T10:00:00Z, NVIDIA H200, 0.1.0+abc".
std::string words_of(const Run& run) {
  std::vector<std::string> devices;
  for (const Device& device : run.devices) devices.push_back(device.name);
  return reports::printable(fmt::format("{}: {}, {}, {}", run.id, run.started_at,
                                        fmt::join(devices, ", "), run.build_id));
}

/// What is reprinted of a run: rows of a sweep, or results of `run`.
struct PastRun {
  Run run;
  std::vector<Measurement> rows;
  std::vector<store::RunResult> results;
  std::vector<Capability> libraries;
  std::vector<AgreementRow> agreements;
  reports::ChosenOf chosen;
};

PastRun past_run(const store::Store& db, const Run& run) {
  return {run,
          db.measurements({.run_id = run.id}),
          db.run_results(run.id),
          db.libraries(run.id),
          db.agreements({.run_id = run.id}),
          choices_of_run(db, run)};
}

Json agreement_json(const AgreementRow& row) {
  return {{"variant", to_string(row.variant)},
          {"executor", row.executor},
          {"problem", row.problem},
          {"blocks", row.agreement.blocks},
          {"same", row.agreement.same},
          {"share", row.agreement.share()}};
}

Json past_json(const PastRun& past) {
  Json document{
      {"run_id", past.run.id},
      {"results", reports::results_json(past.rows, reports::role_in_catalog, past.chosen)},
      {"run_results", Json::array()},
      {"libraries", past.libraries},
      {"agreements", Json::array()}};
  for (const store::RunResult& result : past.results)
    document["run_results"].push_back(result.report);
  for (const AgreementRow& row : past.agreements)
    document["agreements"].push_back(agreement_json(row));
  return document;
}

std::string length_of(const Problem& p) {
  return p.phase == Phase::decode ? fmt::format("context {}", p.max_context())
                                  : fmt::format("{}", p.max_seq_len());
}

std::string agreement_text(const AgreementRow& row) {
  return reports::printable(
             fmt::format("  {} at length {}: {:.2f} % of {} blocks are those of the fp64 reference",
                         to_string(row.variant), length_of(row.problem),
                         100 * row.agreement.share(), row.agreement.blocks)) +
         "\n";
}

std::string past_text(const PastRun& past, reports::Style style) {
  std::string text = words_of(past.run) + "\n" + reports::libraries_text(past.libraries);
  for (const store::RunResult& result : past.results)
    text += reports::run_result_text(result.report);
  if (past.results.empty())
    text += reports::results_table(past.rows, style, reports::role_in_catalog, past.chosen);
  for (const AgreementRow& row : past.agreements) text += agreement_text(row);
  return text;
}

ExitCode print_results(const Settings& settings, std::vector<std::string> ids) {
  const auto db = existing_database(settings);
  if (ids.empty()) {
    const std::vector<Run> runs = db.runs();
    if (runs.empty()) return nothing_judged(settings.db_path() + ": has no run");
    ids.push_back(runs.front().id);
  }
  Json document = Json::array();
  std::size_t found = 0;
  for (const std::string& id : ids) {
    const PastRun past = past_run(db, find_run(db, id, settings));
    found += past.rows.size() + past.results.size();
    if (settings.json) {
      document.push_back(past_json(past));
    } else {
      print_fitted(past_text(past, settings.style_out()));
    }
  }
  if (settings.json) print_json({{"runs", document}});
  return found > 0 ? ExitCode::good : ExitCode::nothing_judged;
}

tuner::Observations rows_of(const store::Store& db, const Run& run) {
  tuner::Observations rows;
  db.for_each_measurement({.run_id = run.id, .with_samples = true},
                          [&](const Measurement& row) { rows.add(row); });
  return rows;
}

Json compared_json(const tuner::ComparedTimes& one) {
  return {{"problem", *one.problem},  {"variant", *one.variant}, {"before_ns", one.before_ns},
          {"after_ns", one.after_ns}, {"ratio", one.ratio},      {"interval", {one.low, one.high}},
          {"differs", one.differs}};
}

/// The surest differences first.
std::string compared_text(std::vector<tuner::ComparedTimes> all, reports::Style style) {
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    if (a.differs != b.differs) return a.differs;
    return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio));
  });
  reports::TextTable table;
  table.add_column("variant");
  table.add_column("length", reports::Align::right);
  table.add_column("batch", reports::Align::right);
  table.add_column("dtype");
  table.add_column("before us", reports::Align::right);
  table.add_column("after us", reports::Align::right);
  table.add_column("after / before", reports::Align::right);
  table.add_column("95 %");
  table.add_column("");
  for (const tuner::ComparedTimes& one : all) {
    table.add_row({reports::printable(to_string(*one.variant)), length_of(*one.problem),
                   std::to_string(one.problem->batch()), std::string(to_string(one.problem->dtype)),
                   fmt::format("{:.4g}", one.before_ns / 1e3),
                   fmt::format("{:.4g}", one.after_ns / 1e3), fmt::format("{:.3f}", one.ratio),
                   fmt::format("[{:.3f}, {:.3f}]", one.low, one.high),
                   !one.differs    ? ""
                   : one.ratio > 1 ? "slower"
                                   : "faster"});
  }
  return table.render(style, 2);
}

ExitCode print_comparison(const Settings& settings, const std::string& before,
                          const std::string& after) {
  const auto db = existing_database(settings);
  const Run first = find_run(db, before, settings), second = find_run(db, after, settings);
  const tuner::Observations first_rows = rows_of(db, first), second_rows = rows_of(db, second);
  const auto compared = tuner::compare_runs(first_rows, second_rows);
  const auto differing = std::ranges::count_if(compared, &tuner::ComparedTimes::differs);
  if (settings.json) {
    Json list = Json::array();
    for (const tuner::ComparedTimes& one : compared) list.push_back(compared_json(one));
    print_json({{"before", first.id}, {"after", second.id}, {"compared", list}});
  } else {
    const std::string text =
        fmt::format("before {}\nafter  {}\n", words_of(first), words_of(second)) +
        compared_text(compared, settings.style_out()) +
        fmt::format("{} of {} differ by more than their noise\n", differing, compared.size());
    print_fitted(text);
  }
  return compared.empty() ? ExitCode::nothing_judged : ExitCode::good;
}

}  // namespace

void add_report_runs(Program& program, CLI::App& report) {
  const Settings& settings = program.settings;
  const auto add = [&](const char* name, const char* about, const char* examples,
                       std::function<ExitCode()> run) {
    return program.add_to(
        report, name, about,
        std::string("Also: --json --quiet --color --db (see nsatune --help)\n\nExamples:\n") +
            examples,
        std::move(run));
  };
  auto ids = std::make_shared<std::vector<std::string>>();
  add("results", "The results of past sweeps and runs, as they were printed",
      "  nsatune report results\n  nsatune report results 3f2a 77b0 --json",
      [&settings, ids] { return print_results(settings, *ids); })
      ->add_option("RUN", *ids, "Ids or their first digits (default: the newest run)");
  auto pair = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* compare = add(
      "compare", "Two runs, variant by variant, with intervals: two nights, builds or machines",
      "  nsatune report compare 3f2a 77b0\n"
      "  nsatune db merge a100.sqlite h200.sqlite --db both.sqlite && nsatune report compare 3f2a "
      "77b0 --db both.sqlite",
      [&settings, pair] { return print_comparison(settings, pair->first, pair->second); });
  compare->add_option("BEFORE", pair->first, "Id of a run or its first digits")->required();
  compare->add_option("AFTER", pair->second, "Id of the other run")->required();
}

}  // namespace nsa::cli
