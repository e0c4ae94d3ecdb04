#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "asked_problem.hpp"
#include "device_choice.hpp"
#include "files/read_document.hpp"
#include "foreign.hpp"
#include "nsa/kernels/documents.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/variants_text.hpp"
#include "nsa/tuner/emit.hpp"
#include "program.hpp"
#include "routing_inputs.hpp"
#include "tune/emit.hpp"

namespace nsa::cli {
namespace {

struct ExplainOptions {
  std::optional<std::string> file;
  AskedProblem asked;
  std::optional<std::string> env_file;  // instead of the environment of the process
  std::optional<std::string> project;   // --for: what runs there
  bool built_in = false;
};

EnvSnapshot environment_of(const ExplainOptions& o) {
  if (!o.env_file) return snapshot_environment();
  return snapshot_environment(tuner::parse_env_file(read_text_file(*o.env_file), *o.env_file));
}

/// The way that a project goes for each stage.
Json routes_json(const tuner::Project& project, const std::vector<tuner::ProjectRoute>& routes) {
  Json j = {{"name", project.name}, {"stages", Json::array()}};
  for (const tuner::ProjectRoute& route : routes) {
    j["stages"].push_back({{"stage", to_string(route.stage)},
                           {"path", tuner::path_name(project, route.stage, route.path)},
                           {"why", route.why}});
  }
  return j;
}

std::string routes_text(const tuner::Project& project,
                        const std::vector<tuner::ProjectRoute>& routes) {
  std::string text = fmt::format("\nin {}, {}:\n", project.name, project.what);
  for (const tuner::ProjectRoute& route : routes) {
    text += fmt::format("  {:<18} {:<18} {}\n", to_string(route.stage),
                        tuner::path_name(project, route.stage, route.path),
                        reports::printable(route.why));
  }
  return text;
}

/// A file is read for the device that it was decided on, wherever that is: then what this build
/// and machine lack is not asked. A folder is searched for this machine's.
std::optional<Router::Inputs> review_of(const Settings& settings, const ExplainOptions& o) {
  if (!o.file || settings.device || std::filesystem::is_directory(*o.file)) return std::nullopt;
  Router::Inputs inputs;
  inputs.table = read_thresholds(*o.file);
  inputs.table_path = *o.file;
  inputs.device = inputs.table->device;
  inputs.review = true;
  return inputs;
}

/// Warnings of the router are on stderr already, unless it is quiet there.
void leave_out_what_was_said(const Settings& settings, const Router& router,
                             ExplainReport& report) {
  if (settings.quiet) return;
  const auto said = router.warnings();
  std::erase_if(report.warnings, [&](const std::string& warning) {
    return std::ranges::find(said, warning) != said.end();
  });
}

ExitCode run(const Settings& settings, const ExplainOptions& o) {
  std::optional<Router::Inputs> review = review_of(settings, o);
  const Device device = review ? review->device : chosen_device(settings);
  if (const auto foreign = foreign_table(o.file, device))
    return explain_foreign(settings, *foreign,
                           problem_from(settings, o.asked, foreign->table.device.backend));
  const tuner::Project* project = o.project ? &tuner::find_project(*o.project) : nullptr;
  const AskedShape shape = shape_from(settings, o.asked, device.backend);
  const Problem& problem = shape.problem;
  EnvSnapshot environment = environment_of(o);
  const reports::ConfigOrigins origins = origins_of(environment, shape.switches);
  environment = with_switches(settings, std::move(environment), shape.switches);
  if (review) review->environment = environment;
  const Router router =
      review ? make_router(settings, std::move(*review))
             : make_router(settings, device, o.file, o.built_in, std::move(environment));
  ExplainReport report =
      reports::with_origins(reports::with_reasons_once(explain(router, problem)), origins);
  std::vector<tuner::ProjectRoute> routes;
  if (project) routes = project->route(router.environment(), problem, device);
  if (settings.json) {
    Json document = explain_to_json(report);
    for (Json& name : document["names"]) {
      const auto origin = origins.find(name["name"].get<std::string>());
      if (origin != origins.end()) name["origin"] = origin->second;
    }
    if (project) document["project"] = routes_json(*project, routes);
    print_json(document);
  } else {
    leave_out_what_was_said(settings, router, report);
    print_fitted(reports::explain_text(report, settings.style_out(), origins) +
                 (project ? routes_text(*project, routes) : ""));
  }
  return ExitCode::good;
}

}  // namespace

void add_explain(Program& program) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* sub =
      program.add("explain", "Every decision for one problem: what runs, why, on what evidence",
                  "  nsatune explain thresholds.json --seq-len 2048\n"
                  "  nsatune explain kernels/tuned/nvidia_h200.json --dtype fp32 --seq-len 65536\n"
                  "  nsatune explain thresholds.json --seq-len 2048 --direction backward\n"
                  "  NSA_FORCE_SEL_MASK=1 nsatune explain thresholds.json --seq-len 8192 --json\n"
                  "  nsatune explain --env-file nsa.env --for nsa-vibe --seq-len 4096",
                  [&program, o] { return run(program.settings, *o); });
  CLI::Option* file = sub->add_option(
      "file", o->file,
      "Thresholds file, read for the device that it was decided on unless --device names one "
      "(default: where the runtime looks)");
  declare_problem(*sub, o->asked);
  sub->add_option("--env-file", o->env_file,
                  "NAME=value lines instead of the environment of this process");
  sub->add_option("--for", o->project, "Also what runs in another program")
      ->check(has_values(project_names()));
  sub->add_flag("--no-thresholds", o->built_in, "Built-in order only, whatever files there are")
      ->excludes(file);
}

}  // namespace nsa::cli
