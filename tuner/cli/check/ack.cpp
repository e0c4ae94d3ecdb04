// ack add, remove, list: changes that somebody has answered for.
#include <memory>

#include "acks_file.hpp"
#include "history/time.hpp"
#include "nsa/reports/text_table.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

struct AckOptions {
  std::string file = "acks.yaml";
  std::string commits = "..";
  nightly::Ack ack;
};

ExitCode add_entry(const Settings& settings, AckOptions o) {
  set_commits(o.ack, o.commits, "--commits");
  if (!is_date(o.ack.until))
    throw InputError("--until: '" + o.ack.until + "' is not a date; 2026-12-31 is one");
  append_ack(o.file, o.ack);
  say(settings, "added to " + o.file + "; nsatune check --acks " + o.file + " reads it");
  return ExitCode::good;
}

ExitCode remove_entries(const Settings& settings, const std::string& file,
                        const std::string& series, const std::optional<std::string>& commits) {
  if (commits) {
    nightly::Ack checked;
    set_commits(checked, *commits, "--commits");
  }
  const std::size_t removed = remove_acks(file, series, commits);
  say(settings, "removed " + std::to_string(removed) + " from " + file);
  return ExitCode::good;
}

ExitCode list_entries(const Settings& settings, const std::string& file) {
  const std::vector<nightly::Ack> acks = load_acks(file);
  Json list = Json::array();
  reports::TextTable table;
  for (const char* column : {"series", "commits", "until", "reason"}) table.add_column(column);
  for (const nightly::Ack& ack : acks) {
    const std::string commits = ack.first_commit + ".." + ack.last_commit;
    list.push_back({{"series", ack.series},
                    {"commits", commits},
                    {"reason", ack.reason},
                    {"until", ack.until}});
    table.add_row({ack.series, commits, ack.until, ack.reason});
  }
  if (settings.json) {
    print_json({{"acks", list}});
  } else {
    print_text(table.render(settings.style_out()));
  }
  return ExitCode::good;
}

}  // namespace

void add_ack(Program& program) {
  auto o = std::make_shared<AckOptions>();
  CLI::App* ack = program.app.add_subcommand("ack", "Known changes that `check` does not report");
  ack->require_subcommand(1);
  ack->fallthrough();
  ack->footer(
      "Examples:\n"
      "  nsatune ack add 'attend_selected/*' --commits 1f2e..9a8b --reason 'exact ties cost 2 %' "
      "--until 2026-12-31\n"
      "  nsatune ack remove 'attend_selected/*'\n"
      "  nsatune ack list --json\n"
      "  nsatune check --db nightly.sqlite --acks acks.yaml");
  const auto add = [&](const char* name, const char* about, std::function<ExitCode()> run) {
    CLI::App* sub =
        program.add_to(*ack, name, about,
                       "Also: --json --quiet (see nsatune --help)\n\nExamples:\n  nsatune ack add "
                       "'*' --commits 1f2e..9a8b --reason 'new ties' --until 2026-12-31\n  nsatune "
                       "ack remove '*' --commits 1f2e..9a8b\n  nsatune ack list",
                       std::move(run));
    sub->add_option("--acks", o->file, "YAML file (default: acks.yaml)");
    return sub;
  };
  const Settings& settings = program.settings;
  CLI::App* sub = add("add", "Answers for a change: adds an entry and leaves every other byte",
                      [&settings, o] { return add_entry(settings, *o); });
  sub->add_option("GLOB", o->ack.series, "Names of series; * stands for any text")->required();
  sub->add_option("--commits", o->commits,
                  "A..B: the change lies after A, at B at the latest (default: any commits)");
  sub->add_option("--reason", o->ack.reason, "Why the change is accepted")->required();
  sub->add_option("--until", o->ack.until, "Date from which check reports it again")->required();
  auto only = std::make_shared<std::optional<std::string>>();
  CLI::App* remove =
      add("remove", "Takes entries out and leaves every other byte",
          [&settings, o, only] { return remove_entries(settings, o->file, o->ack.series, *only); });
  remove->add_option("GLOB", o->ack.series, "Exactly as in the entry")->required();
  remove->add_option("--commits", *only,
                     "Only the entry for these commits (default: all entries of the series)");
  add("list", "Prints the entries", [&settings, o] { return list_entries(settings, o->file); });
}

}  // namespace nsa::cli
