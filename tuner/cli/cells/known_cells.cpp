#include "known_cells.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "cell_process.hpp"
#include "device_choice.hpp"
#include "files/database_wait.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/store/store.hpp"
#include "run/report.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

using Variables = std::map<std::string, std::string>;

/// The text under which `run` keeps what these flags ask for.
std::string kept_command(const std::vector<std::string>& flags, Backend backend) {
  CLI::App app;
  RunOptions options;
  declare(app, options);
  std::vector<std::string> reversed(flags.rbegin(), flags.rend());
  app.parse(reversed);
  return command_line(options, make_run_plan(options, backend));
}

/// The users' switches of a result.
Variables switches_of(const Json& run) {
  Variables switches;
  const auto variables = run.find("variables");
  if (variables == run.end()) return switches;
  for (const auto& [name, value] : variables->items()) {
    if (name.starts_with("NSA_")) switches[name] = value.get<std::string>();
  }
  return switches;
}

}  // namespace

std::vector<std::vector<Json>> known_documents(const Settings& settings,
                                               const MeasureOptions& options,
                                               const std::vector<run_tables::Asked>& asked) {
  std::vector<std::vector<Json>> known(asked.size());
  if (!std::filesystem::exists(settings.db_path())) return known;
  const Device device = chosen_device(settings);
  const auto db = existing_database(settings);
  std::vector<Json> results;
  for (store::RunResult& result : db.run_results()) {
    const Json& run = result.report;
    if (run.value("version", std::string()) == build_id() &&
        run["device"].value("uuid", std::string()) == device.uuid && !ended_early(run))
      results.push_back(std::move(result.report));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string command = kept_command(run_flags(options, asked[i]), device.backend);
    const Variables switches(asked[i].variables.begin(), asked[i].variables.end());
    std::ranges::copy_if(results, std::back_inserter(known[i]), [&](const Json& run) {
      return run["command"] == command && switches_of(run) == switches;
    });
  }
  return known;
}

}  // namespace nsa::cli
