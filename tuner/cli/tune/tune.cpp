// tune: from the rows of a device's runs to a thresholds file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "device_runs.hpp"
#include "emit.hpp"
#include "executor.hpp"
#include "files/database_wait.hpp"
#include "files/read_document.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/store/store.hpp"
#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/foreign_worker.hpp"
#include "nsa/tuner/verify_table.hpp"
#include "nsa/tuner/workload.hpp"
#include "program.hpp"
#include "stale_ranges.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

struct TuneOptions {
  std::string out;
  std::vector<std::string> runs;
  std::optional<std::string> shipped, against;
  std::optional<std::string> executor;  // resolved before anything is decided
  bool unverified = false;
  double margin = 1.0;
  std::uint64_t seed = 1;
  std::optional<std::string> workload;
  EmitOptions emit;
};

/// What the foreign workers of the runs declare of their variants.
std::map<VariantId, worker::Orders> declared_orders(const std::vector<MeasuredOn>& runs) {
  std::map<VariantId, worker::Orders> orders;
  for (const MeasuredOn& on : runs) {
    if (const auto worker = tuner::foreign_worker_of(on.run))
      orders.insert(worker->orders.begin(), worker->orders.end());
  }
  return orders;
}

/// The rows to decide from, and `others`: executors whose rows are not asked for.
tuner::DecideInput input_of(const store::Store& db, const DeviceRuns& d, const TuneOptions& o,
                            std::set<std::string>& others) {
  tuner::DecideInput input;
  input.device = d.device;
  input.validators = validators_of_rows(d.device, *o.executor);
  input.variants = tuner::traits_of(*o.executor, d.device.backend, declared_orders(d.runs));
  input.complete = d.newest().state == RunState::complete;
  input.options.executor = *o.executor;
  input.options.unverified = o.unverified;
  input.options.margin = o.margin;
  input.options.seed = o.seed;
  input.options.created_by = program_version();
  if (o.workload)
    input.options.workload = tuner::parse_workload(read_text_file(*o.workload), *o.workload);
  if (o.shipped) input.shipped = read_thresholds(*o.shipped);
  for (const MeasuredOn& on : d.runs) {
    store::Query query{.run_id = on.run.id, .device_uuid = on.device_uuid, .with_samples = true};
    query.by_time = false;  // a decision does not depend on the order of its rows
    db.for_each_measurement(query, [&](const Measurement& row) {
      if (row.executor == *o.executor) {
        input.rows.add(row);
      } else {
        others.insert(row.executor);
      }
    });
  }
  return input;
}

/// What one decision for all loses on each of several boards, a line each.
std::vector<std::string> notes_of_boards(const tuner::DecideInput& together,
                                         const std::set<std::string>& boards,
                                         const ThresholdTable& table) {
  std::vector<std::string> lines;
  if (boards.size() < 2) return lines;
  for (const std::string& board : boards) {
    tuner::DecideInput input = together;
    input.rows =
        together.rows.only([&](const tuner::Observation& row) { return *row.board == board; });
    const tuner::TrialReport report = tuner::judge_table(table, input, tuner::JudgedBy::measured);
    std::string line = fmt::format("board {}: loses {:.2f} % on average by its own times", board,
                                   100 * std::max(0.0, report.mean));
    const auto worst = std::ranges::max_element(report.trials, {}, &tuner::Trial::low);
    if (worst != report.trials.end() && worst->low > 0.003)
      line += fmt::format(", most {:.1f} % [{:.1f}, {:.1f}] with {} at {} {} against {}",
                          100 * worst->regret, 100 * worst->low, 100 * worst->high, worst->chosen,
                          to_string(worst->axis), worst->at, worst->best);
    lines.push_back(std::move(line));
  }
  return lines;
}

tuner::DecideReport decide_device(const store::Store& db, const DeviceRuns& d,
                                  const TuneOptions& o) {
  std::set<std::string> others;
  const tuner::DecideInput input = input_of(db, d, o, others);
  tuner::DecideReport report = tuner::decide(input);
  for (std::string& line : notes_of_boards(input, d.boards(), report.table))
    report.notes.push_back(std::move(line));
  if (const std::string note = simulation_note(d.newest(), *o.executor); !note.empty())
    report.notes.push_back(note);
  if (*o.executor == kOwnExecutor) {
    const std::vector<std::string> stale = stale_notes(report.table);
    report.notes.insert(report.notes.end(), stale.begin(), stale.end());
  }
  if (input.rows.empty() && !others.empty()) {
    report.notes.push_back(fmt::format("--executor {}: no measurements of it; there are some of {}",
                                       *o.executor, fmt::join(others, ", ")));
  }
  return report;
}

Json written_json(const std::string& path, const Device& device, const tuner::DecideReport& report,
                  const std::vector<std::string>& changes) {
  Json j = {{"file", path},
            {"device", device},
            {"complete", report.table.complete},
            {"classes", report.table.classes.size()},
            {"decided", report.decided},
            {"undecided", report.undecided},
            {"notes", report.notes},
            {"changes", changes}};
  if (report.compared > 0) {
    j["compared"] = report.compared;
    j["disputed"] = report.disputed;
  }
  return j;
}

/// "; boards disagree on 2 of 14 ranges" where two boards or more were measured, else "".
std::string dispute_text(const tuner::DecideReport& report) {
  if (report.compared == 0) return "";
  return fmt::format("; boards disagree on {} of {}", report.disputed,
                     counted(report.compared, "range"));
}

/// FILE for one device; for several, a folder with a file for each.
std::string file_for(const TuneOptions& o, const Device& device,
                     const std::vector<DeviceRuns>& devices) {
  if (std::filesystem::is_directory(o.out) || o.out.ends_with('/')) {
    make_folder(o.out);
    return (std::filesystem::path(o.out) / device_file_name(device)).string();
  }
  if (devices.size() > 1) {
    std::string names;
    for (const DeviceRuns& d : devices)
      names += fmt::format("{}{} {} (--run {})", names.empty() ? "" : ", ", d.device.id,
                           d.device.name, d.newest().id);
    throw InputError(fmt::format(
        "-o: the runs hold {} devices: {}; choose one with --device or --run, or name a folder "
        "(-o {}/)",
        devices.size(), names, o.out));
  }
  return o.out;
}

/// The settings of another program, from the rows of the only device that there is.
ExitCode emit(const Settings& settings, const TuneOptions& o, const store::Store& db,
              const std::vector<DeviceRuns>& devices) {
  if (devices.size() > 1)
    throw InputError(
        fmt::format("--emit: the runs hold {} devices; choose one with --device or "
                    "--run",
                    devices.size()));
  std::set<std::string> others;
  const tuner::DecideInput input = input_of(db, devices.front(), o, others);
  if (input.rows.empty())
    throw InputError(fmt::format("--executor {}: no measurements of it; there are some of {}",
                                 *o.executor, fmt::join(others, ", ")));
  return emit_rows(settings, o.emit, o.out, input);
}

/// "there are some of cuda:0 (NVIDIA H200)", for who names a device that has none.
std::string others_measured(const store::Store& db) {
  std::set<std::string> names;
  for (const Run& run : db.runs()) {
    for (const Device& device : run.devices) names.insert(device.id + " (" + device.name + ")");
  }
  return names.empty() ? "run nsatune sweep first"
                       : fmt::format("there are some of {}", fmt::join(names, ", "));
}

ExitCode run(const Settings& settings, TuneOptions o) {
  if (o.emit.from) return emit_file(settings, o.emit, o.out);
  if (!std::isfinite(o.margin)) throw InputError("--margin: is not a number; give 1 to 100");
  const auto db = existing_database(settings);
  std::vector<std::string> left_out;
  const std::vector<std::string> with_rows = executors_of(db, o.runs, settings.device);
  const ExecutorChoice chosen = choose_executor(with_rows, o.executor);
  if (!chosen.note.empty()) say(settings, "note: " + chosen.note);
  o.executor = chosen.name;
  // Where it has no rows, the newest runs are looked at all the same, to say whose rows they are.
  const bool has_rows =
      std::find(with_rows.begin(), with_rows.end(), chosen.name) != with_rows.end();
  std::vector<DeviceRuns> devices =
      runs_of(db, o.runs, settings.device, has_rows ? o.executor : std::nullopt);
  for (DeviceRuns& d : devices) d.device = device_of_rows(d.newest(), *o.executor, d.device);
  if (o.runs.empty()) devices = join_models(std::move(devices), left_out);
  if (devices.empty()) {
    throw InputError(fmt::format("{}: no measurements of {}; {}", settings.db_path(),
                                 settings.device.value_or("any device"), others_measured(db)));
  }
  for (const std::string& line : left_out) say(settings, "note: " + line);
  if (o.emit.format) return emit(settings, o, db, devices);
  std::optional<ThresholdTable> before;
  if (o.against) before = read_thresholds(*o.against);
  const bool on_stdout = o.out == kStdout;
  Json written = Json::array();
  std::int64_t decided = 0;
  std::string text;
  for (const DeviceRuns& d : devices) {
    const std::string path = file_for(o, d.device, devices);
    std::optional<WholeFile> file;  // before all that takes time: it may be one that cannot be
    if (!on_stdout) file.emplace(path);
    const tuner::DecideReport report = decide_device(db, d, o);
    for (const std::string& note : report.notes) say(settings, "note: " + note);
    if (report.table.classes.empty()) {
      say(settings, "tune: nothing could be decided for " + d.device.id);
      continue;
    }
    decided += report.decided;
    const std::string table = dump_thresholds(report.table);
    if (on_stdout) print_text(table);
    if (file) file->write_whole(table);
    const std::vector<std::string> changes =
        before ? tuner::compare_tables(*before, report.table) : std::vector<std::string>{};
    written.push_back(written_json(path, d.device, report, changes));
    text += reports::thresholds_table(report.table, settings.style_out());
    for (const std::string& change : changes) text += "changed: " + visible(change) + "\n";
    text += fmt::format("wrote {}: {} decided, {} undecided{}\n", visible(path),
                        counted(report.decided, "range"), report.undecided, dispute_text(report));
  }
  if (!on_stdout) settings.json ? print_json({{"written", written}}) : print_fitted(text);
  return decided == 0 ? ExitCode::nothing_judged : ExitCode::good;
}

}  // namespace

void add_tune(Program& program) {
  auto o = std::make_shared<TuneOptions>();
  CLI::App* sub =
      program.add("tune", "Decide from what was measured which variant runs at which length",
                  "  nsatune tune -o thresholds.json\n"
                  "  nsatune tune -o new.json --shipped old.json --against old.json\n"
                  "  nsatune tune --workload lengths.csv -o ours.json   # 2048,310,prefill\n"
                  "  nsatune tune --executor triton --unverified -o triton.json\n"
                  "  nsatune tune --emit env --for nsa-vibe --config users.yaml -o nsa.env\n"
                  "  nsatune tune --emit yaml --for nsa-vibe --config users.yaml -o patched.yaml\n"
                  "  nsatune tune --from thresholds.json --emit env --for nsa-vibe -o nsa.env",
                  [&program, o] {
                    check_emit(*program.app.get_subcommand("tune"), o->emit);
                    return run(program.settings, *o);
                  });
  sub->add_option(
         "-o,--output", o->out,
         "Thresholds file; a folder for several devices; with --emit the settings; - is stdout")
      ->required();
  sub->add_option(
      "--run", o->runs,
      "Runs to decide from (default: all of a device under the conditions of its newest one)");
  sub->add_option("--shipped", o->shipped,
                  "Thresholds file in use; a decision changes only where the gain is certain");
  sub->add_option("--against", o->against, "Report what changed compared with this file");
  sub->add_option("--executor", o->executor,
                  "Whose variants (default: nsatune, or the only other one that has rows)");
  sub->add_flag("--unverified", o->unverified, "Count rows that no oracle has checked, too");
  sub->add_option("--margin", o->margin,
                  "Speedup that is needed for a switch to another variant (default 1.0)")
      ->check(number_in(1.0, 100.0));
  sub->add_option("--workload", o->workload,
                  "How often lengths are used: a file of lines tokens,weight[,phase], or what "
                  "`run --json` or --heartbeat wrote; what is used more counts more");
  sub->add_option("--seed", o->seed, "Seed of the bootstrap")->check(whole_number());
  declare_emit(*sub, o->emit);
}

}  // namespace nsa::cli
