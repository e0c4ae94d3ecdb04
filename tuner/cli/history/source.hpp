// Where the history of `check`, `selftest` and `power` comes from, and how it is judged.
#pragma once

#include <optional>
#include <string>

#include "history.hpp"
#include "nsa/nightly/judge.hpp"
#include "program.hpp"

namespace nsa::cli {

struct NightlySource {
  std::optional<std::string> csv;  // else the results database
  std::string direction = "lower";
  double min_change_percent = 1;
  int threads = 1;
};

/// --csv, --direction, --min-change and -j.
void declare_source(CLI::App& sub, NightlySource& source);
/// The history of the file or the database, its notes said on stderr.
NightlyHistory read_history(const Settings& settings, const NightlySource& source);
/// The options of judge() that the source's flags say.
nightly::Options judge_options(const NightlySource& source);

}  // namespace nsa::cli
