#include "bisect.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "nsa/nightly/sequential.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/text.hpp"
#include "shell.hpp"

namespace nsa::cli {
namespace {

using nightly::Side;

/// Of `git bisect run`: this commit cannot be told.
constexpr ExitCode kSkip{125};

struct StepOptions {
  double step = 0, noise = 0;
  std::string good, candidate, measure;
  int most_pairs = 40;
};

/// The number that is alone on the last line that is not empty.
std::optional<double> last_number(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const std::size_t line = text.find_last_of('\n') + 1;
  const char* begin = text.data() + text.find_first_not_of(" \t", line);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

/// What the command prints in the folder; nothing where it fails or prints no time.
std::optional<double> time_in(const std::string& folder, const std::string& measure) {
  const std::string command = "cd " + shell_word(folder) + " && exec sh -c " + shell_word(measure);
  FILE* pipe = popen(command.c_str(), "re");
  if (!pipe) throw EnvironmentError("bisect step: no process can be started");
  std::string out;
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof part, pipe)) {
    out.append(part, n);
    constexpr std::size_t kMost = std::size_t{1} << 20;
    if (out.size() > kMost) out.erase(0, out.size() - kMost / 2);  // the last line counts
  }
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return last_number(out);
}

/// Pairs of both folders, in turns, until it is certain. Nothing where the candidate gives no time.
std::optional<Side> measure_pairs(const Settings& settings, const StepOptions& o,
                                  nightly::SequentialTest& test) {
  while (test.side() == Side::unknown && test.pairs() < static_cast<std::size_t>(o.most_pairs)) {
    double good = 0, candidate = 0;
    const bool good_first = test.pairs() % 2 == 0;
    for (const bool is_good : {good_first, !good_first}) {
      const auto time = time_in(is_good ? o.good : o.candidate, o.measure);
      if (!time && is_good)
        throw EnvironmentError("bisect step: the good commit prints no time: " + o.measure);
      if (!time) return std::nullopt;
      (is_good ? good : candidate) = *time;
    }
    test.add(std::log(candidate / good));
    say(settings, fmt::format("pair {}: candidate / good {:.4f}", test.pairs(), candidate / good));
  }
  return test.side() == Side::unknown ? test.likely_side() : test.side();
}

std::string_view word_of(std::optional<Side> side) {
  if (!side) return "no_time";
  return *side == Side::unknown ? "unknown" : *side == Side::good ? "good" : "bad";
}

ExitCode run(const Settings& settings, const StepOptions& o) {
  if (o.step == 0 || !std::isfinite(o.step))
    throw InputError("--step: must be a number other than 0");
  for (const std::string& folder : {o.good, o.candidate}) {
    if (!std::filesystem::is_directory(folder))
      throw InputError("bisect step: " + folder + " is not a folder");
  }
  nightly::SequentialTest test(o.step, o.noise);
  const std::optional<Side> side = measure_pairs(settings, o, test);
  if (settings.json) {
    print_json({{"side", word_of(side)}, {"pairs", test.pairs()}});
  } else {
    print_text(fmt::format("{} after {}\n", word_of(side),
                           counted(static_cast<std::int64_t>(test.pairs()), "pair")));
  }
  if (!side || *side == Side::unknown) return kSkip;
  return *side == Side::good ? ExitCode::good : ExitCode::found;
}

}  // namespace

void add_bisect_step(Program& program, CLI::App& bisect) {
  auto o = std::make_shared<StepOptions>();
  const Settings& settings = program.settings;
  CLI::App* sub = program.add_to(
      bisect, "step", "Is a commit as fast as the good one? Pairs of both until that is certain",
      "Exit codes: 0 as fast, 1 slower by half of the step or more, 125 cannot be told (git tries "
      "another commit),\n2 bad input, 4 the good commit cannot be measured\n\nExamples:\n  nsatune "
      "bisect step --step 0.077 --good ../good --candidate . --measure './bench --once'",
      [&settings, o] { return run(settings, *o); });
  sub->add_option("--step", o->step, "log(new / old) to look for; below 0: a speedup")->required();
  sub->add_option("--noise", o->noise, "SD of log(one time / another) (default: step / 4)")
      ->check(number_in(0, 1000));
  sub->add_option("--good", o->good, "Folder of the good commit")->required();
  sub->add_option("--candidate", o->candidate, "Folder of the commit in question")->required();
  sub->add_option("--measure", o->measure,
                  "Command whose last line of output is a time, run in both")
      ->required();
  sub->add_option("--most-pairs", o->most_pairs, "Most pairs before it gives up (default 40)")
      ->check(CLI::Range(3, 100'000));
}

}  // namespace nsa::cli
