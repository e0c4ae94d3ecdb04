// What the runtime's router needs, gathered from flags, files and the environment of the process.
#pragma once

#include <optional>
#include <string>

#include "nsa/kernels/routing.hpp"
#include "nsa/reports/variants_text.hpp"
#include "nsa/tuner/user_config.hpp"
#include "program.hpp"

namespace nsa::cli {

/// The environment with what a config says of its variables, where it does not set them itself.
/// Each is told on stderr.
EnvSnapshot with_switches(const Settings& settings, EnvSnapshot environment,
                          const std::vector<tuner::ConfigSwitch>& switches);
/// Where a config sets variables that `environment` does not: by name "users.yaml:16".
reports::ConfigOrigins origins_of(const EnvSnapshot& environment,
                                  const std::vector<tuner::ConfigSwitch>& switches);
/// The router of these inputs. Its warnings go to stderr. InputError on a variable that cannot be.
Router make_router(const Settings& settings, Router::Inputs inputs);
/// The router of `device` with the thresholds of `file` (or where docs/architecture.md says),
/// unless `built_in_only`, with `environment` and the caller's wishes. Its warnings go to stderr.
/// InputError on a file that cannot be used.
Router make_router(const Settings& settings, const Device& device,
                   const std::optional<std::string>& file, bool built_in_only,
                   EnvSnapshot environment = snapshot_environment(), ApiOverrides api = {});

}  // namespace nsa::cli
