// tune --emit: what was decided for one class, as the settings of another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "asked_problem.hpp"
#include "nsa/tuner/emit.hpp"

namespace nsa::cli {

struct EmitOptions {
  std::optional<std::string> format;   // env, yaml, json; nothing: no emission
  std::optional<std::string> project;  // --for
  std::optional<std::string> from;     // a thresholds file instead of the database
  AskedProblem asked;
  bool shape_given = false;  // one of the shape flags is there
};

/// The programs whose settings `tune --emit --for` writes.
std::vector<std::string> project_names();
void declare_emit(CLI::App& sub, EmitOptions& options);
/// InputError where a flag of --emit is missing or stands without it.
void check_emit(const CLI::App& sub, EmitOptions& options);

/// Writes `out` from rows that were measured. Nothing is written where nothing could be decided.
ExitCode emit_rows(const Settings& settings, const EmitOptions& options, const std::string& out,
                   const tuner::DecideInput& input);
/// The same from the thresholds file of `options`.
ExitCode emit_file(const Settings& settings, const EmitOptions& options, const std::string& out);

}  // namespace nsa::cli
