// Evidence for the doctor: files by what they hold, the environment, the results database, a
// command that runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::cli {

struct Settings;

struct DoctorOptions {
  std::vector<std::string> files;              // recognised by content
  std::vector<std::string> configs, logs;      // --config, --log
  std::vector<std::string> environment_files;  // --env-file
  std::vector<std::string> command;            // after --
  std::optional<double> for_s;                 // --for
  std::optional<std::string> record;           // --record
  bool list = false, markdown = false;
};

/// InputError with the file where one is missing or none of what is read. The database of --db must
/// exist; the default one is used where it does.
doctor::RunEvidence gather_evidence(const Settings& settings, const DoctorOptions& options);

// Parts, each in a file of its name.

/// A YAML file as flat keys. InputError with the line.
doctor::ConfigEvidence read_config(std::string_view text, const std::string& file);
/// Verified rows of the newest run of each device in a database.
std::vector<doctor::Measured> read_measured(const Settings& settings, const std::string& path);
/// Starts the command and looks at it until it ends, `for_s` is over or somebody interrupts.
void watch_command(const DoctorOptions& options, bool quiet, doctor::RunEvidence& into);

}  // namespace nsa::cli
