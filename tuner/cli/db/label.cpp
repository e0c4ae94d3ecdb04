#include "commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "files/database_wait.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {
namespace {

constexpr std::size_t kLongest = 200;  // bytes

constexpr const char* kHelp =
    R"(A run may have several labels, a label several runs. `db info` prints them, `db merge` keeps those of
both sides, and `check --baseline NAME` counts every change after the last run that has the label.

Also: --json --quiet --db (see nsatune --help)

Examples:
  nsatune db label --label v1.2                      # the newest run
  nsatune db label 3f2a 77c0 --label before-upgrade
  nsatune db label 3f2a --label v1.2 --remove
  nsatune check --baseline v1.2)";

struct LabelOptions {
  std::vector<std::string> runs;
  std::string label;
  bool remove = false;
};

void check_label(const std::string& label) {
  if (label.size() > kLongest)
    throw InputError(fmt::format("--label: is longer than {} bytes", kLongest));
  if (reports::printable(label) != label)
    throw InputError("--label: '" + reports::printable(label) + "' holds what cannot be printed");
}

/// Ids of the runs that are named; of the newest one where none is.
std::vector<std::string> ids_of(const store::Store& db, const Settings& settings,
                                const std::vector<std::string>& names) {
  std::vector<std::string> ids;
  if (names.empty()) {
    const std::vector<Run> runs = db.runs();
    if (runs.empty()) throw InputError(settings.db_path() + ": has no run");
    return {runs.front().id};
  }
  for (const std::string& name : names) {
    const auto run = db.find_run(name);
    if (!run)
      throw InputError(
          fmt::format("{}: no run {}; nsatune db info lists them", settings.db_path(), name));
    if (std::find(ids.begin(), ids.end(), run->id) == ids.end()) ids.push_back(run->id);
  }
  return ids;
}

ExitCode run(const Settings& settings, const LabelOptions& o) {
  check_label(o.label);
  auto db = existing_database_to_change(settings);
  const std::vector<std::string> ids = ids_of(db, settings, o.runs);
  if (!o.remove) {
    db.add_label(ids, o.label);
  } else if (db.remove_label(ids, o.label) == 0) {
    throw InputError(fmt::format("{}: no such label '{}' on {}; nsatune db info lists them",
                                 settings.db_path(), o.label, fmt::join(ids, ", ")));
  }
  if (settings.json) {
    print_json(
        {{"path", settings.db_path()}, {"label", o.label}, {"removed", o.remove}, {"runs", ids}});
  } else {
    say(settings, fmt::format("{}: {} '{}'", fmt::join(ids, ", "),
                              o.remove ? "no longer labelled" : "labelled", o.label));
  }
  return ExitCode::good;
}

}  // namespace

void add_db_label(Program& program, CLI::App& db) {
  auto o = std::make_shared<LabelOptions>();
  const Settings& settings = program.settings;
  CLI::App* sub = program.add_to(db, "label", "Names runs, for check --baseline", kHelp,
                                 [&settings, o] { return run(settings, *o); });
  sub->add_option("RUN", o->runs, "Ids of runs, or their first digits (default: the newest run)");
  sub->add_option("--label", o->label, "The name")->required();
  sub->add_flag("--remove", o->remove, "Takes the label away from the runs");
}

}  // namespace nsa::cli
