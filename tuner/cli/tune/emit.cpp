#include "emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {
namespace {

constexpr std::array kShapeFlags{"--preset",      "--config",    "--seq-len",
                                 "--context-len", "--batch",     "--dtype",
                                 "--overlap",     "--direction", "--ignore-unknown"};

std::string listed(const std::vector<ProblemClass>& classes) {
  std::vector<std::string> names;
  for (const ProblemClass& of : classes) names.push_back(to_string(of));
  return fmt::format("{}", fmt::join(names, "; "));
}

/// A class, and the longest problem of it that the program runs where flags or a config say so.
struct AskedClass {
  ProblemClass of;
  std::optional<Problem> longest;
};

/// The class that the shape flags ask for, or the only one that there is.
AskedClass class_for(const Settings& settings, const EmitOptions& o, Backend backend,
                     const std::vector<ProblemClass>& classes) {
  if (!o.shape_given) {
    if (classes.size() == 1) return {classes.front(), {}};
    throw InputError(fmt::format(
        "--emit: writes one class and {} are decided; choose with --config, or --preset, --dtype, "
        "--batch, --seq-len, --context-len, --overlap, --direction: {}",
        classes.size(), listed(classes)));
  }
  Settings silent = settings;  // keys of a config that say nothing of the class are no news here
  silent.quiet = true;
  const AskedShape shape = shape_from(silent, o.asked, backend);
  const ProblemClass asked = class_of(shape.problem);
  if (std::ranges::find(classes, asked) != classes.end())
    return {asked, shape.length_given ? std::optional(shape.problem) : std::nullopt};
  throw InputError(fmt::format("--emit: nothing was decided for {}; there is {}", to_string(asked),
                               listed(classes)));
}

std::string emitted_text(const Settings& settings, const EmitOptions& o,
                         const tuner::Project& project, const tuner::Emission& emission) {
  if (*o.format == "env") return tuner::env_text(emission);
  if (*o.format == "json") return json_text(tuner::emission_json(emission), 2) + "\n";
  const std::string& path = *o.asked.run.config;
  std::vector<std::string> left_out;
  std::string text = tuner::patched_yaml(project, emission, read_text_file(path), path, left_out);
  if (!left_out.empty())
    say(settings, fmt::format("note: {} has no key for {}: set them with --emit env", project.name,
                              fmt::join(left_out, ", ")));
  return text;
}

ExitCode write(const Settings& settings, const EmitOptions& o, const std::string& out,
               const tuner::Project& project, const tuner::Emission& emission) {
  for (const std::string& note : emission.notes) say(settings, "note: " + note);
  const bool settled = std::ranges::any_of(
      emission.stages, [](const tuner::EmittedStage& stage) { return !stage.runs.empty(); });
  if (!settled && emission.values.empty()) {
    for (const tuner::EmittedStage& stage : emission.stages)
      say(settings, fmt::format("note: {}: {}", to_string(stage.stage), stage.why));
    return nothing_judged("tune: nothing could be decided for " + emission.project);
  }
  write_text_file(out, emitted_text(settings, o, project, emission));
  if (settings.json) {
    print_json(tuner::emission_json(emission));
    return ExitCode::good;
  }
  std::string text;
  for (const tuner::EmittedStage& stage : emission.stages) {
    const std::string limit = stage.up_to
                                  ? fmt::format(", for lengths up to {} {}",
                                                to_string(stage.up_to->axis), stage.up_to->length)
                                  : "";
    text += fmt::format("{:<18} {}{}\n", to_string(stage.stage),
                        stage.runs.empty() ? "left as it is: " + stage.why : stage.runs, limit);
  }
  print_fitted(text + "wrote " + reports::printable(out) + "\n");
  return ExitCode::good;
}

}  // namespace

std::vector<std::string> project_names() {
  std::vector<std::string> names;
  for (const tuner::Project& project : tuner::projects()) names.emplace_back(project.name);
  return names;
}

void declare_emit(CLI::App& sub, EmitOptions& o) {
  sub.add_option("--emit", o.format,
                 "Write -o as settings of another program: env, yaml (--config, patched), json")
      ->check(CLI::IsMember({"env", "yaml", "json"}));
  sub.add_option("--for", o.project, "The program whose settings they are")
      ->check(has_values(project_names()));
  sub.add_option("--from", o.from, "Emit from this thresholds file, without a database");
  declare_problem(sub, o.asked);
}

void check_emit(const CLI::App& sub, EmitOptions& o) {
  o.shape_given =
      std::ranges::any_of(kShapeFlags, [&](const char* flag) { return sub.count(flag) > 0; });
  if (!o.format) {
    if (o.project || o.from || o.shape_given)
      throw InputError(
          "tune: --for, --from and the flags of a shape go with --emit env, yaml or "
          "json");
    return;
  }
  if (!o.project) throw InputError("--emit: needs --for, the program to write settings for");
  if (*o.format == "yaml" && !o.asked.run.config)
    throw InputError("--emit yaml: needs --config, the YAML that gets the new values");
  for (const char* flag : {"--shipped", "--against"}) {
    if (sub.count(flag) > 0) throw InputError(std::string(flag) + ": does not go with --emit");
  }
  for (const char* flag : {"--run", "--executor", "--unverified", "--margin"}) {
    if (o.from && sub.count(flag) > 0)
      throw InputError(std::string(flag) + ": does not go with --from, which is decided");
  }
}

ExitCode emit_rows(const Settings& settings, const EmitOptions& o, const std::string& out,
                   const tuner::DecideInput& input) {
  const tuner::Project& project = tuner::find_project(*o.project);
  std::vector<ProblemClass> classes;
  std::set<const Problem*> seen;  // rows share their problems
  for (const tuner::Observation& row : input.rows.rows()) {
    if (!seen.insert(row.problem).second) continue;
    const ProblemClass of = class_of(*row.problem);
    if (std::ranges::find(classes, of) == classes.end()) classes.push_back(of);
  }
  const auto [of, longest] = class_for(settings, o, input.device.backend, classes);
  const auto emission = tuner::emit_from_rows(project, input, of, longest);
  if (!emission) {
    return nothing_judged(
        fmt::format("tune: nothing of {} was measured for {}", project.name, to_string(of)));
  }
  return write(settings, o, out, project, *emission);
}

ExitCode emit_file(const Settings& settings, const EmitOptions& o, const std::string& out) {
  const tuner::Project& project = tuner::find_project(*o.project);
  const ThresholdTable table = load_thresholds(*o.from);
  std::vector<ProblemClass> classes;
  for (const ClassDecisions& of : table.classes) classes.push_back(of.problem_class);
  if (classes.empty()) throw InputError(*o.from + ": has no decision");
  const AskedClass asked = class_for(settings, o, table.device.backend, classes);
  const auto decided = std::ranges::find(table.classes, asked.of, &ClassDecisions::problem_class);
  const auto traits = tuner::catalog_traits(table.device.backend);
  tuner::Emission emission =
      tuner::emit_from_table(project, table, *decided, traits, asked.longest);
  emission.source = *o.from;
  return write(settings, o, out, project, emission);
}

}  // namespace nsa::cli
