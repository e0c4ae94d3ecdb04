// check --confirm: what regressed is measured again, the old build beside the new one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/nightly/judge.hpp"
#include "program.hpp"

namespace nsa::cli {

struct ConfirmOptions {
  bool on = false;
  std::optional<std::string> old_build, worker;
  int pairs = 5;
  std::string budget = "10m";
  bool share = false;  // the device with others
};

/// --confirm, --old, --worker, --pairs and --confirm-budget.
void declare_confirm(CLI::App& sub, ConfirmOptions& options);
/// Before anything is read: InputError where flags lack each other, or --old is no program.
void check_confirm_flags(const ConfirmOptions& options, bool csv);
/// Of every series that the report calls suspect, confirmed or drift: pairs of both builds, or why
/// there are none. Measures on the devices of the series, each under its lock.
/// @throws InputError        a build that is no worker
/// @throws EnvironmentError  the device of a series is not here
std::vector<nightly::Confirmation> confirm(const Settings& settings, const ConfirmOptions& options,
                                           const nightly::Report& report);

}  // namespace nsa::cli
