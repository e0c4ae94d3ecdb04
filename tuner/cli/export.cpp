#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "files/database_wait.hpp"
#include "files/format_name.hpp"
#include "files/read_document.hpp"
#include "nsa/exchange/exchange.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

struct ExportOptions {
  std::optional<std::string> format;  // csv where it is not said
  std::optional<std::string> out, run_id, stage, variant, thresholds;
  bool samples = false;
};

store::Query query_of(const store::Store& db, const ExportOptions& o) {
  store::Query query{.stage = o.stage, .variant = o.variant, .with_samples = o.samples};
  if (o.run_id) {
    const std::optional<Run> run = db.find_run(*o.run_id);
    if (!run) throw InputError("--run: no run " + *o.run_id + "; nsatune db info lists them");
    query.run_id = run->id;
  }
  return query;
}

/// Whether rows have that name somewhere: one of ours, or of somebody else's worker.
void require_known(const char* flag, const std::string& word, const std::set<std::string>& names) {
  if (names.contains(word)) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw InputError(fmt::format("{} {}: no row has it, and no variant of this program{}", flag, word,
                               did_you_mean(word, known)));
}

/// InputError where nothing can have what was asked for; else one line that says that no row does.
void explain_nothing(const Settings& settings, const store::Store& db, const ExportOptions& o) {
  std::set<std::string> stages, variants;
  for (const Variant& row : catalog()) {
    stages.insert(stages_text(row.stages));
    variants.emplace(row.name);
  }
  for (std::size_t i = 0; i < kStageCount; ++i) stages.emplace(to_string(static_cast<Stage>(i)));
  db.for_each_measurement({.by_time = false}, [&](const Measurement& row) {
    stages.insert(fmt::format("{}", fmt::join(row.variant.stages, "+")));
    variants.insert(row.variant.name);
  });
  if (o.stage) require_known("--stage", *o.stage, stages);
  if (o.variant) require_known("--variant", *o.variant, variants);
  std::string of;
  if (o.run_id) of += " of run " + *o.run_id;
  if (o.stage) of += " of stage " + *o.stage;
  if (o.variant) of += " of variant " + *o.variant;
  say(settings, fmt::format("note: {} has no row{}", settings.db_path(), of));
}

std::vector<Measurement> rows_of(const Settings& settings, const store::Store& db,
                                 const store::Query& query, const ExportOptions& o) {
  std::vector<Measurement> rows = db.measurements(query);
  if (rows.empty()) explain_nothing(settings, db, o);
  return rows;
}

/// The runs of the rows; where all rows of a run are meant, also those without any.
std::vector<Run> runs_of(const store::Store& db, const store::Query& query,
                         const std::vector<Measurement>& rows) {
  std::set<std::string> named;
  for (const Measurement& row : rows) named.insert(row.run_id);
  const bool all_rows = !query.stage && !query.variant;
  std::vector<Run> runs = db.runs();
  std::erase_if(runs, [&](const Run& run) {
    const bool asked_for = all_rows && (!query.run_id || *query.run_id == run.id);
    return !asked_for && !named.contains(run.id);
  });
  return runs;
}

/// Rows with their samples, the devices that they name, and their runs.
exchange::Results results_of(const store::Store& db, const store::Query& query,
                             std::vector<Measurement> rows) {
  exchange::Results results;
  results.rows = std::move(rows);
  std::set<std::string> named;
  for (const Measurement& row : results.rows) {
    for (const Placed& placed : row.placement) named.insert(placed.device_uuid);
  }
  for (const Run& run : runs_of(db, query, results.rows)) {
    for (const Device& device : run.devices) {
      if (named.erase(device.uuid) > 0) results.devices.push_back(device);
    }
    results.runs.push_back({run, db.libraries(run.id)});
  }
  return results;
}

Json json_export(const store::Store& db, const store::Query& query,
                 const std::vector<Measurement>& rows) {
  const std::vector<Run> runs = runs_of(db, query, rows);
  Json document = reports::measurements_json(rows, runs, version_text());
  Json results = Json::array(), libraries = Json::array();
  for (const Run& run : runs) {
    libraries.push_back({{"run_id", run.id}, {"libraries", db.libraries(run.id)}});
    for (const store::RunResult& result : db.run_results(run.id)) results.push_back(result.report);
  }
  document["libraries"] = libraries;
  document["run_results"] = results;
  return document;
}

/// What can be written.
std::vector<std::string> format_names() {
  std::vector<std::string> names{"header"};
  for (const exchange::Format& format : exchange::formats()) {
    if (format.write) names.emplace_back(format.name);
  }
  return names;
}

/// Before a database is looked for.
void require_format(const std::string& name) {
  const std::vector<std::string> all = format_names();
  if (std::ranges::find(all, name) != all.end()) return;
  for (const exchange::Format& format : exchange::formats()) {
    if (format.name == name) throw InputError("format '" + name + "' can only be imported");
  }
  const bool is_file = name.find_first_of("./") != name.npos;
  refuse_format("export", name, all,
                is_file ? "; a file to write comes after -o, a database after --db" : "");
}

exchange::Bundle bundle_of(const Settings& settings, const ExportOptions& o) {
  if (o.format) require_format(*o.format);
  if (settings.json && o.format && o.format != "json" && !o.out)
    throw InputError(
        fmt::format("export {} --json: stdout has one of them; drop one, or write {} "
                    "to a file with -o",
                    *o.format, *o.format));
  if (o.format == "header") {
    if (!o.thresholds) throw InputError("export header: name the decisions with --thresholds FILE");
    return {exchange::thresholds_header(read_thresholds(*o.thresholds)), {}};
  }
  if (o.thresholds) throw InputError("--thresholds: is for the format header");
  const auto db = existing_database(settings);
  store::Query query = query_of(db, o);
  const bool as_json = o.format == "json" || (settings.json && !o.format);
  const bool as_csv = !as_json && (!o.format || o.format == "csv");
  if (!as_json && !as_csv) query.with_samples = true;
  std::vector<Measurement> rows = rows_of(settings, db, query, o);
  if (as_json) return {json_text(json_export(db, query, rows), 2) + "\n", {}};
  if (as_csv && o.samples) return {reports::samples_csv(rows), {}};
  if (as_csv) return {reports::measurements_csv(rows, runs_of(db, query, rows)), {}};
  const std::string name = o.out ? std::filesystem::path(*o.out).filename().string() : "stdout";
  return exchange::find_format(*o.format).write(results_of(db, query, std::move(rows)), name);
}

/// Sidecars first: a file never names what is not there yet.
void write_bundle(const exchange::Bundle& bundle, const std::string& out, WholeFile& file) {
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  for (const auto& [name, bytes] : bundle.sidecars) {
    const std::filesystem::path path = folder / name;
    make_folder(path.parent_path().string());
    write_text_file(path.string(), bytes);
  }
  file.write_whole(bundle.text);
}

ExitCode run_export(const Settings& settings, ExportOptions o) {
  if (o.out == kStdout) o.out.reset();
  std::optional<WholeFile> file;  // before all that takes time, and before its sidecars are made
  if (o.out) file.emplace(*o.out);
  const exchange::Bundle bundle = bundle_of(settings, o);
  if (file) {
    write_bundle(bundle, *o.out, *file);
    say(settings, "wrote " + *o.out);
  } else if (bundle.sidecars.empty()) {
    print_text(bundle.text);
  } else {
    throw InputError(*o.format + ": is several files; name the first with -o FILE");
  }
  return ExitCode::good;
}

}  // namespace

void add_export(Program& program) {
  auto o = std::make_shared<ExportOptions>();
  CLI::App* sub =
      program.add("export", "Measurements as CSV, JSON, or in the format of another program",
                  "  nsatune export -o results.csv\n"
                  "  nsatune export json --run 3f2a --samples | jq '.measurements | length'\n"
                  "  nsatune export nvbench --stage attend_selected -o selected.json\n"
                  "  nsatune export kernel_tuner --run 3f2a -o cache.json\n"
                  "  nsatune export header --thresholds thresholds.json -o nsa_tuned.hpp",
                  [&program, o] { return run_export(program.settings, *o); });
  sub->add_option("FORMAT,--format", o->format,
                  "csv (default), json, kernel_tuner, t4, nvbench, google_benchmark, tunableop, "
                  "otava, header")
      ->check(has_values(format_names()));
  sub->add_option("-o,--output", o->out, "File (default, and -: stdout)");
  sub->add_option("--run", o->run_id, "Only this run (id or its first digits)");
  sub->add_option("--stage", o->stage, "Only this stage");
  sub->add_option("--variant", o->variant, "Only this variant");
  sub->add_option("--thresholds", o->thresholds, "Thresholds file that `header` is made from");
  sub->add_flag("--samples", o->samples,
                "csv and json: raw samples, one CSV line each, or in the JSON");
}

}  // namespace nsa::cli
