#include "command_line/command_line.hpp"

#include <fmt/format.h>

#include <array>

#include "nsa/schemas/env_names.hpp"

namespace nsa::cli {
namespace {

struct OwnVariable {
  std::string_view name, meaning, otherwise;  // otherwise: what holds where it is not set
};

constexpr std::array<OwnVariable, 10> kOwn{{
    {"NSATUNE_DEVICE", "the device that commands use, as `--device`: `cpu`, `cuda:0`, `auto`",
     "`auto`: the first GPU, or the CPU where there is none"},
    {"NSATUNE_DB", "the results database, as `--db`", "`results.sqlite`"},
    {"NSATUNE_THRESHOLDS",
     "the thresholds file, or a folder of such files, that `run` and `explain` follow",
     "`$XDG_DATA_HOME/nsatune/thresholds`, then the file that is shipped for the device"},
    {"NSATUNE_SHIPPED", "the folder of shipped thresholds", "the installed `share/nsatune/tuned`"},
    {"NSATUNE_THREADS", "CPU threads of the runtime", "the CPUs that the process may run on"},
    {"NSATUNE_LOCK_DIR", "the folder of the lock files with which commands that measure take turns",
     "`/run/lock`, or `/tmp`"},
    {"NSATUNE_BISECT_GOOD",
     "the folder in which a script from `bisect` keeps its build of the good commit",
     "`~/.cache/nsatune`"},
    {"NSATUNE_EXTERNAL_DATA",
     "a folder of data that is not in the repository, for some tests and worlds of "
     "`worker-sim`",
     "these tests are skipped"},
    {"NSATUNE_WORKER_MARK",
     "internal: which worker a process belongs to, so that everything a worker started ends with "
     "it",
     "set for each worker"},
    {"NSATUNE_TRACE_*",
     "internal: how `trace record` talks to the library that records inside the traced program",
     "set by `trace record`"},
}};

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string names_of(EnvScope scope, const char* title, const char* about) {
  std::string text = fmt::format(
      "\n## {}\n\n{}\n\n| name | value | effect |\n| --- | --- | --- |\n", title, about);
  constexpr std::array<std::string_view, 4> kKinds{"0 or 1", "whole number", "number", "text"};
  for (const EnvName& name : env_names()) {
    if (name.scope != scope) continue;
    text += fmt::format("| `{}` | {} | {} |\n", name.name,
                        kKinds[static_cast<std::size_t>(name.kind)], cell(name.effect));
  }
  return text;
}

}  // namespace

std::string variables_markdown() {
  std::string text =
      "# Environment variables\n\n"
      "Printed by `nsatune help --variables`. `nsatune doctor` says which of them are set in this "
      "shell, and what is wrong with them.\n\n"
      "## NSATUNE_*: the program\n\n"
      "A command-line flag takes precedence over its variable.\n\n"
      "| name | meaning | without it |\n| --- | --- | --- |\n";
  for (const OwnVariable& own : kOwn)
    text += fmt::format("| `{}` | {} | {} |\n", own.name, cell(own.meaning), cell(own.otherwise));
  text +=
      "\nAlso read: `NO_COLOR` and `TERM=dumb` turn colours off; `COLUMNS` is the width of tables "
      "if stdout is not a terminal; `XDG_DATA_HOME` and `XDG_CACHE_HOME` are where your files "
      "lie.\n";
  text += names_of(
      EnvScope::runtime, "NSA_*: what runs",
      "nsa-vibe's names, and what they do in **nsatune's runtime**. In nsa-vibe itself some of "
      "them do something else: see [guides/nsa_vibe.md](guides/nsa_vibe.md). They take "
      "precedence over a config file and a thresholds file; what the call itself "
      "requests takes precedence over them. Booleans are 1, true, yes, on or 0, false, "
      "no, off.");
  text += names_of(EnvScope::no_effect, "NSA_*: accepted, but without effect in nsatune",
                   "`explain` lists those that are set, with the reason.");
  text +=
      names_of(EnvScope::trainer, "NSA_*: read by the training script",
               "nsatune's runtime does not read them and does not warn about them; `doctor` judges "
               "some of them.");
  return text;
}

}  // namespace nsa::cli
