#include "bisect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "check/input.hpp"
#include "nsa/nightly/power.hpp"
#include "nsa/nightly/ratio_text.hpp"
#include "nsa/reports/text_table.hpp"
#include "shell.hpp"

namespace nsa::cli {
namespace {

struct BisectOptions {
  NightlySource source;
  std::optional<std::string> series;  // a glob; any where none is given
  std::optional<std::string> build, measure, worker, out;
};

/// A commit that can stand in a shell command and is no flag.
bool is_plain(const std::string& commit) {
  constexpr const char* kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-";
  return !commit.empty() && commit[0] != '-' &&
         commit.find_first_not_of(kPlain) == std::string::npos;
}

bool is_worse(const nightly::Change& change, nightly::Better better) {
  if (change.environment || change.reverted || !change.ratio) return false;
  return better == nightly::Better::both || change.up == (better == nightly::Better::lower);
}

/// SD of log(one process / another): of the replicates of a night, else of the nights.
double noise_of(const nightly::Power& power) {
  const double sd = power.replicate_sd > 0 ? power.replicate_sd : power.night_sd;
  return std::sqrt(2.0) * sd;
}

/// The newest step to the worse of each series of that name.
std::vector<BisectTarget> targets_of(const NightlyHistory& history, const BisectOptions& o) {
  const nightly::Options options = judge_options(o.source);
  const nightly::Report report = nightly::judge(history.series, options);
  const std::vector<nightly::Power> powers = nightly::power_of(history.series, options);
  std::vector<BisectTarget> targets;
  for (std::size_t i = 0; i < report.series.size(); ++i) {
    const nightly::Verdict& verdict = report.series[i];
    if (o.series && !nightly::matches_glob(*o.series, verdict.name)) continue;
    const auto change =
        std::find_if(verdict.changes.rbegin(), verdict.changes.rend(),
                     [&](const nightly::Change& c) { return is_worse(c, options.better); });
    if (change == verdict.changes.rend()) continue;
    targets.push_back({verdict.name, *change, std::log(*change->ratio), noise_of(powers[i])});
  }
  return targets;
}

/// Of series that stepped with the newest one, the one in which it stands out most.
const BisectTarget& clearest(const std::vector<BisectTarget>& targets) {
  const auto rank = [](const BisectTarget& t) {
    return std::pair(t.change.index, std::abs(t.step) / std::max(t.noise, 1e-6));
  };
  return *std::max_element(targets.begin(), targets.end(),
                           [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

Json target_json(const BisectTarget& target) {
  const nightly::Change& change = target.change;
  return {{"series", target.series},
          {"index", change.index},
          {"time", change.time},
          {"ratio", *change.ratio},
          {"interval", {change.interval.first, change.interval.second}},
          {"good", change.first_commit},
          {"bad", change.last_commit}};
}

/// Between which commits a step came; a sentence where the history does not tell.
std::string commits_text(const nightly::Change& change) {
  const std::string good = reports::printable(change.first_commit);
  const std::string bad = reports::printable(change.last_commit);
  if (good.empty() || bad.empty())
    return "  no commits: the history names none for these nights (a column `commit`, or builds "
           "that know theirs)\n";
  if (good == bad)
    return fmt::format("  no other commit: both nights ran {}; the machine moved, not the code\n",
                       good);
  return fmt::format("  last good  {0}\n  first bad  {1}\n  range      {0}..{1}\n", good, bad);
}

std::string target_text(const BisectTarget& target) {
  const nightly::Change& change = target.change;
  return fmt::format("{}\n  {} since {}, row {}\n", reports::printable(target.series),
                     nightly::ratio_text(*change.ratio), reports::printable(change.time),
                     change.index + 1) +
         commits_text(change);
}

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// The command that measures: the user's, or a worker's with the series of the database.
std::string measure_command(const Settings& settings, const BisectOptions& o,
                            const BisectTarget& target) {
  if (o.measure) return *o.measure;
  return fmt::format("{} bisect time -q --db {} --series {} --worker {}",
                     shell_word(this_program()),
                     shell_word(std::filesystem::absolute(settings.db_path()).string()),
                     shell_word(target.series), shell_word(*o.worker));
}

void check_flags(const BisectOptions& o) {
  if (o.measure && o.worker) throw InputError("--measure and --worker: give one of them");
  if (o.worker && o.source.csv) throw InputError("--worker: is for the database; use --measure");
  if (!o.out && (o.build || o.measure || o.worker))
    throw InputError("bisect: name the script with -o");
  if (!o.out) return;
  if (!o.build) throw InputError("bisect: -o needs --build, the command that builds a commit");
  if (!o.measure && !o.worker)
    throw InputError("bisect: -o needs --measure, a command that prints a time, or --worker");
  refuse_input_as_output(*o.out, {o.source.csv});
}

void write_script(const Settings& settings, const BisectOptions& o, const BisectTarget& target) {
  for (const std::string& commit : {target.change.first_commit, target.change.last_commit}) {
    if (!is_plain(commit))
      throw InputError("bisect: '" + reports::printable(commit) +
                       "' is not a commit that a script can name; the history needs its commits");
  }
  if (target.change.first_commit == target.change.last_commit)
    throw InputError("bisect: both sides of the step are of commit " + target.change.last_commit +
                     "; the machine changed, not the code");
  const BisectCommands commands{this_program(), *o.build, measure_command(settings, o, target)};
  write_text_file(*o.out, bisect_script(target, commands));
  using std::filesystem::perms;
  std::filesystem::permissions(*o.out, perms::owner_exec | perms::group_exec,
                               std::filesystem::perm_options::add);
  say(settings, fmt::format("wrote {}; git bisect start {} {} && git bisect run {}", *o.out,
                            target.change.last_commit, target.change.first_commit,
                            shell_line({std::filesystem::absolute(*o.out).string()})));
}

ExitCode run(const Settings& settings, const BisectOptions& o) {
  check_flags(o);
  const std::vector<BisectTarget> targets = targets_of(read_history(settings, o.source), o);
  if (targets.empty()) {
    const std::string why =
        fmt::format("no series{} has a step to the worse",
                    o.series ? " of the name " + reports::printable(*o.series) : std::string());
    if (settings.json) print_json({{"series", nullptr}, {"reason", why}});
    return nothing_judged("bisect: " + why);
  }
  const BisectTarget& target = clearest(targets);
  if (o.out) write_script(settings, o, target);
  if (settings.json) {
    Json document = target_json(target);
    if (o.out) document["script"] = *o.out;
    print_json(document);
  } else {
    print_text(target_text(target));
  }
  return ExitCode::good;
}

}  // namespace

void add_bisect(Program& program) {
  auto o = std::make_shared<BisectOptions>();
  CLI::App* sub = program.add(
      "bisect",
      "The commits between which a series became slower, and a script that finds the exact one",
      "  nsatune bisect --csv history.csv --series forward_ms\n"
      "  nsatune bisect --csv history.csv --build 'make -j' --measure './bench --once' -o "
      "bisect.sh\n"
      "  nsatune bisect --db nightly.sqlite --build 'cmake --build build' --worker "
      "'build/bin/nsatune worker' -o bisect.sh\n"
      "  git bisect start BAD GOOD && git bisect run ./bisect.sh\n\n"
      "Exit codes: 0; 2 bad input; 3 no series, or none of that name, has a step to the worse",
      [&program, o] { return run(program.settings, *o); });
  sub->require_subcommand(0, 1);
  declare_source(*sub, o->source);
  sub->add_option("--series", o->series,
                  "Name, or a glob (default: of the newest step the series that shows it best)");
  sub->add_option("--build", o->build, "Builds a commit, in the root of its checkout");
  sub->add_option("--measure", o->measure,
                  "Prints one time of a fresh process on its last line, in the root of a checkout");
  sub->add_option("--worker", o->worker,
                  "Instead of --measure: the worker of a checkout, for a series of the database");
  sub->add_option("-o,--output", o->out, "The script for git bisect run");
  add_bisect_step(program, *sub);
  add_bisect_time(program, *sub);
}

}  // namespace nsa::cli
