#include "emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "files/read_document.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/reports/fit_lines.hpp"
#include "nsa/reports/text_table.hpp"

namespace nsa::cli {
namespace {

constexpr std::array kShapeFlags{"--preset",      "--config",    "--seq-len",
                                 "--context-len", "--batch",     "--dtype",
                                 "--overlap",     "--direction", "--ignore-unknown"};

/// The flags of the shape that ask for a class: "--preset 125m --dtype bf16 --batch 4".
std::string flags_of(const Settings& settings, const ProblemClass& of, Backend backend) {
  AskedProblem asked;
  asked.direction = to_string(of.direction);
  asked.run.dtype = to_string(of.dtype);
  std::string rest = " --dtype " + *asked.run.dtype;
  if (of.direction != Direction::forward) rest += " --direction " + asked.direction;
  if (of.phase != Phase::prefill) {
    asked.run.seq_len = of.phase == Phase::decode ? 1 : 2;
    asked.context_len = 1024;
    rest +=
        of.phase == Phase::decode ? " --seq-len 1 --context-len N" : " --seq-len N --context-len N";
  }
  for (const std::int64_t batch : {2, 5, 17}) {
    if (of.batch_bin == batch_bin(batch)) asked.run.batch = batch;
  }
  if (asked.run.batch) rest += fmt::format(" --batch {}", *asked.run.batch);
  for (const double overlap : {0.5, 0.9}) {
    if (of.overlap_bin == overlap_bin(overlap)) asked.overlap = overlap;
  }
  if (asked.overlap) rest += fmt::format(" --overlap {:g}", *asked.overlap);
  for (const std::string& preset : model_preset_names()) {
    asked.run.preset = preset;
    if (class_of(problem_from(settings, asked, backend)) == of) return "--preset " + preset + rest;
  }
  return "--config YOURS.yaml" + rest;  // no preset has its heads or geometry
}

/// Says what there is on stderr, a class on each line with its flags.
void list_classes(const Settings& settings, Backend backend,
                  const std::vector<ProblemClass>& classes) {
  reports::TextTable table;
  table.add_column("flags");
  table.add_column("class");
  for (const ProblemClass& of : classes)
    table.add_row({flags_of(settings, of, backend), to_string(of)});
  std::fputs(reports::fit_lines(table.render({}), columns_err()).c_str(), stderr);
}

/// A class, and the longest problem of it that the program runs where flags or a config say so.
struct AskedClass {
  ProblemClass of;
  std::optional<Problem> longest;
};

/// The class that the shape flags ask for, or the only one that there is. Of several none is the
/// default: settings of another shape than the program's would look as good as the right ones.
AskedClass class_for(const Settings& settings, const EmitOptions& o, Backend backend,
                     const std::vector<ProblemClass>& classes) {
  Settings silent = settings;  // keys of a config that say nothing of the class are no news here
  silent.quiet = true;
  if (!o.shape_given) {
    if (classes.size() == 1) return {classes.front(), {}};
    list_classes(silent, backend, classes);
    throw InputError(
        fmt::format("--emit: writes one class and {} are decided; choose one by its flags (N: your "
                    "longest), or with --config",
                    classes.size()));
  }
  const AskedShape shape = shape_from(silent, o.asked, backend);
  const ProblemClass asked = class_of(shape.problem);
  if (std::ranges::find(classes, asked) != classes.end())
    return {asked, shape.length_given ? std::optional(shape.problem) : std::nullopt};
  if (classes.size() > 1) list_classes(silent, backend, classes);
  throw InputError(fmt::format(
      "--emit: nothing was decided for {}; {}", to_string(asked),
      classes.size() > 1 ? "choose one of these" : "there is " + to_string(classes.front())));
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
  const bool on_stdout = out == kStdout;
  const std::string settings_text = emitted_text(settings, o, project, emission);
  on_stdout ? print_text(settings_text) : write_text_file(out, settings_text);
  for (const tuner::EmittedStage& stage : emission.stages) {
    for (const std::string& line : {tuner::loss_text(stage), tuner::caution_text(stage)})
      if (!line.empty()) say(settings, fmt::format("note: {}: {}", to_string(stage.stage), line));
  }
  if (settings.json && !on_stdout) print_json(tuner::emission_json(emission));
  if (settings.json || on_stdout) return ExitCode::good;
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
  // Here they choose among the classes that were decided, and none of them has a default.
  sub.get_option("--preset")
      ->description(
          "With --emit: the class of this built-in model (default: the only class that there is; "
          "125m beside other flags of a shape)");
  sub.get_option("--config")
      ->description("With --emit: the class, longest sequence and switches of your YAML");
  sub.get_option("--seq-len")
      ->description(
          "With --emit: the longest sequence that the program runs (default: as long as it likes)");
  sub.get_option("--context-len")
      ->description("With --emit --seq-len 1: decode steps, up to this many tokens in the cache");
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
  const ThresholdTable table = read_thresholds(*o.from);
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
