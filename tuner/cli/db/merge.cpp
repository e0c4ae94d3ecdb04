#include "commands.hpp"

#include <fmt/format.h>

#include <memory>

#include "files/database_wait.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/store/merge.hpp"

namespace nsa::cli {
namespace {

constexpr const char* kHelp =
    R"(The result is the same in any order and grouping, and a second time adds nothing. A run that
ended in one file has ended in the result. Files are read as they are, those of older versions too,
and stay as they are. Exit 2, and nothing is added, when a file cannot be read or two of them
contradict each other: another content under one id, or one run that went on in both. Exit 4, and
nothing is added, when another process holds a file for longer than a merge waits.

Also: --json --quiet --db (see nsatune --help)

Examples:
  nsatune db merge node1.sqlite node2.sqlite --db fleet.sqlite
  nsatune db merge nightly/*.sqlite --db fleet.sqlite --json
  nsatune tune --db fleet.sqlite -o tuned/)";

Json counts_json(const store::RowCounts& rows) {
  return {{"runs", rows.runs},
          {"measurements", rows.measurements},
          {"launch_traces", rows.launch_traces},
          {"launch_counters", rows.launch_counters},
          {"telemetry", rows.telemetry},
          {"run_results", rows.run_results}};
}

std::string counts_text(const store::RowCounts& rows) {
  return fmt::format(
      "{}, {}, {}, {}, {} telemetry, {} results of run", counted(rows.runs, "run"),
      counted(rows.measurements, "measurement"), counted(rows.launch_traces, "launch trace"),
      counted(rows.launch_counters, "launch counter"), rows.telemetry, rows.run_results);
}

Json report_json(const store::MergeReport& report) {
  Json files = Json::array();
  for (const store::MergedFile& file : report.files)
    files.push_back({{"path", file.path}, {"rows", counts_json(file.rows)}});
  return {{"path", report.path},
          {"created", report.created},
          {"files", files},
          {"added", counts_json(report.added)},
          {"total", counts_json(report.total)}};
}

std::string report_text(const store::MergeReport& report) {
  std::string text;
  for (const store::MergedFile& file : report.files)
    text += fmt::format("{}: {}\n", reports::printable(file.path), counts_text(file.rows));
  const std::string out = reports::printable(report.path);
  text += fmt::format("{}: {}added {}\n", out, report.created ? "created, " : "",
                      counts_text(report.added));
  return text + fmt::format("{}: has {}\n", out, counts_text(report.total));
}

}  // namespace

void add_db_merge(Program& program, CLI::App& db) {
  auto files = std::make_shared<std::vector<std::string>>();
  const Settings& settings = program.settings;
  CLI::App* sub = program.add_to(
      db, "merge", "Adds the rows of other databases: many machines, many models of device", kHelp,
      [&settings, files] {
        const store::MergeReport report = store::merge(
            *files, settings.db_path(), wait_aloud(settings), [&](const std::string& file) {
              return wait_aloud(settings, file, store::kLongestWaitForFile_s);
            });
        settings.json ? print_json(report_json(report)) : print_text(report_text(report));
        return ExitCode::good;
      });
  sub->add_option("FILE", *files, "Databases whose rows are added to that of --db")->required();
}

}  // namespace nsa::cli
