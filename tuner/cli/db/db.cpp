// db info, samples, traces, counters, verify, compact; label, merge and prune have files of their
// own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "commands.hpp"
#include "files/database_wait.hpp"
#include "nsa/reports/launch_text.hpp"
#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

/// The name in the spec that a run was measured by; "" where it has none.
std::string spec_name(const Run& run) {
  const Json spec = Json::parse(run.spec_json, nullptr, false);
  if (!spec.is_object()) return "";
  const auto name = spec.find("name");
  return name != spec.end() && name->is_string() ? name->get<std::string>() : "";
}

using Labels = std::map<std::string, std::set<std::string>>;

std::set<std::string> labels_of(const Labels& labels, const Run& run) {
  const auto found = labels.find(run.id);
  return found != labels.end() ? found->second : std::set<std::string>{};
}

Json info_json(const store::Store& db) {
  const store::Info info = db.info();
  const Labels labels = db.labels();
  Json document{{"path", info.path},
                {"schema_version", info.schema_version},
                {"journal_mode", info.journal_mode},
                {"bytes", info.bytes},
                {"runs", info.runs},
                {"open_runs", info.open_runs},
                {"measurements", info.measurements},
                {"samples", info.samples},
                {"run_results", info.run_results},
                {"run_list", Json::array()}};
  for (const Run& run : db.runs()) {
    Json entry{{"id", run.id},
               {"state", to_string(run.state)},
               {"started_at", run.started_at},
               {"build_id", run.build_id},
               {"spec_hash", run.spec_hash},
               {"spec", spec_name(run)},
               {"labels", labels_of(labels, run)},
               {"devices", Json::array()},
               {"libraries", db.libraries(run.id)}};
    for (const Device& device : run.devices)
      entry["devices"].push_back({{"id", device.id}, {"name", device.name}, {"uuid", device.uuid}});
    if (run.ended_at) entry["ended_at"] = *run.ended_at;
    document["run_list"].push_back(entry);
  }
  return document;
}

/// "  [v1.2] [good]"
std::string labels_text(const std::set<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels)
    text += fmt::format("{}[{}]", text.empty() ? "  " : " ", reports::printable(label));
  return text;
}

ExitCode print_info(const Settings& settings) {
  const auto db = existing_database(settings);
  if (settings.json) {
    print_json(info_json(db));
    return ExitCode::good;
  }
  const store::Info i = db.info();
  std::string text =
      fmt::format("{}: schema {}, journal {}, {} bytes\n", reports::printable(i.path),
                  i.schema_version, i.journal_mode, i.bytes);
  text += fmt::format("{} ({} open), {}, {}, {} results of run\n", counted(i.runs, "run"),
                      i.open_runs, counted(i.measurements, "measurement"),
                      counted(i.samples, "sample"), i.run_results);
  std::string libraries;
  const Labels labels = db.labels();
  for (const Run& run : db.runs()) {
    std::vector<std::string> devices;
    for (const Device& device : run.devices) devices.push_back(reports::printable(device.name));
    text += fmt::format("  {}  {:<10}  {}  {:<10}  {}  {}{}\n", reports::printable(run.id),
                        to_string(run.state), reports::printable(run.started_at),
                        reports::printable(spec_name(run)), fmt::join(devices, ", "),
                        reports::printable(run.build_id), labels_text(labels_of(labels, run)));
    // Said again only where they changed.
    const std::string here = reports::libraries_text(db.libraries(run.id));
    if (here != libraries) text += here;
    libraries = here;
  }
  print_fitted(text);
  return ExitCode::good;
}

Measurement find_one(const store::Store& db, const std::string& id) {
  std::vector<Measurement> found = db.measurements({.id = id, .with_samples = true});
  if (found.size() != 1) {
    throw InputError(
        fmt::format("db samples: {} measurements have the id {}; `nsatune export` "
                    "lists the ids",
                    found.size(), id));
  }
  return std::move(found.front());
}

ExitCode print_samples(const Settings& settings, const std::string& id) {
  const auto db = existing_database(settings);
  const Measurement row = find_one(db, id);
  if (row.samples.empty() && row.samples_n > 0)
    throw InputError("db samples: those of " + row.id + " were pruned; its median is left");
  if (settings.json) {
    print_json(row);
    return ExitCode::good;
  }
  std::string text = "start_ns,device_ns,host_ns,cycles\n";
  for (const Sample& s : row.samples) {
    text += fmt::format("{},{},{},{}\n", s.start_ns, s.device_ns, s.host_ns,
                        s.cycles ? std::to_string(*s.cycles) : "");
  }
  print_text(text);
  return ExitCode::good;
}

/// Which launches `traces` and `counters` print.
struct LaunchFilter {
  std::optional<std::string> run_id, stage, variant;
  bool any() const { return run_id || stage || variant; }
};

store::Query query_of(const store::Store& db, const LaunchFilter& filter) {
  store::Query query{.stage = filter.stage, .variant = filter.variant};
  if (filter.run_id) {
    const auto run = db.find_run(*filter.run_id);
    if (!run) throw InputError("--run: no run " + *filter.run_id + "; nsatune db info lists them");
    query.run_id = run->id;
  }
  return query;
}

/// Rows as JSON under `key`, or the text of each; `made_by` is the flag of sweep that makes them.
template <class LaunchRow>
ExitCode print_launches(const Settings& settings, const LaunchFilter& filter,
                        const std::vector<LaunchRow>& rows, const char* key,
                        std::string (*text_of)(const LaunchRow&), const std::string& command,
                        const std::string& made_by) {
  if (settings.json) {
    Json list = Json::array();
    for (const LaunchRow& row : rows) list.push_back(row);
    print_json({{key, list}});
    return ExitCode::good;
  }
  std::string text;
  for (const LaunchRow& row : rows) text += text_of(row);
  if (rows.empty()) {
    say(settings, filter.any() ? "no such launches; without --run, --stage and --variant nsatune "
                                 "db " +
                                     command + " lists all that there are"
                               : "none; nsatune sweep --" + made_by + " makes them");
  }
  print_fitted(text);
  return ExitCode::good;
}

ExitCode print_traces(const Settings& settings, const LaunchFilter& filter) {
  const auto db = existing_database(settings);
  return print_launches(settings, filter, db.launch_traces(query_of(db, filter)), "launch_traces",
                        reports::launch_trace_text, "traces", "trace");
}

ExitCode print_counters(const Settings& settings, const LaunchFilter& filter) {
  const auto db = existing_database(settings);
  return print_launches(settings, filter, db.launch_counters(query_of(db, filter)),
                        "launch_counters", reports::launch_counters_text, "counters", "counters");
}

ExitCode verify(const Settings& settings) {
  const auto db = existing_database(settings);
  const std::vector<std::string> problems = db.verify();
  if (settings.json) {
    print_json({{"path", settings.db_path()}, {"problems", problems}});
  } else {
    std::string text;
    for (const std::string& problem : problems) text += visible(problem) + "\n";
    print_text(problems.empty() ? visible(settings.db_path()) + ": good\n" : text);
  }
  return problems.empty() ? ExitCode::good : ExitCode::found;
}

ExitCode compact(const Settings& settings) {
  auto db = existing_database(settings);
  const std::int64_t before = db.info().bytes;
  db.compact();
  say(settings,
      fmt::format("{}: {} bytes, {} before", settings.db_path(), db.info().bytes, before));
  if (settings.json) print_json(info_json(db));
  return ExitCode::good;
}

}  // namespace

void add_db(Program& program) {
  CLI::App* db = program.app.add_subcommand("db", "The results database");
  db->require_subcommand(1);
  db->fallthrough();
  db->footer(
      "Examples:\n  nsatune db info --json\n  nsatune db samples 3f2a\n  nsatune db verify\n  "
      "nsatune db merge node1.sqlite node2.sqlite --db fleet.sqlite");
  const auto add = [&](const char* name, const char* about, const char* example,
                       std::function<ExitCode()> run) {
    return program.add_to(
        *db, name, about,
        std::string("Also: --json --quiet --db (see nsatune --help)\n\nExamples:\n  ") + example,
        std::move(run));
  };
  const Settings& settings = program.settings;
  add("info", "What is in it", "nsatune db info --json",
      [&settings] { return print_info(settings); });
  auto id = std::make_shared<std::string>();
  add("samples", "Raw samples of one measurement as CSV", "nsatune db samples 3f2a",
      [&settings, id] { return print_samples(settings, *id); })
      ->add_option("id", *id, "Id of a measurement, or its first digits")
      ->required();
  auto filter = std::make_shared<LaunchFilter>();
  for (CLI::App* of_launches :
       {add("traces", "Which kernels each variant really ran (sweep --trace)",
            "nsatune db traces --stage attend_selected",
            [&settings, filter] { return print_traces(settings, *filter); }),
        add("counters",
            "Shares of the peaks of DRAM, L2 and tensor pipes, and DRAM bytes (sweep --counters)",
            "nsatune db counters --stage attend_selected --json",
            [&settings, filter] { return print_counters(settings, *filter); })}) {
    of_launches->add_option("--run", filter->run_id, "Only this run (id or its first digits)");
    of_launches->add_option("--stage", filter->stage, "Only this stage");
    of_launches->add_option("--variant", filter->variant, "Only this variant");
  }
  add("verify", "Integrity, foreign keys, every sample blob; exit 1 when something is wrong",
      "nsatune db verify --db nightly.sqlite", [&settings] { return verify(settings); });
  add("compact", "Gives unused space back", "nsatune db compact",
      [&settings] { return compact(settings); });
  add_db_label(program, *db);
  add_db_merge(program, *db);
  add_db_prune(program, *db);
}

}  // namespace nsa::cli
