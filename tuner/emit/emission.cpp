// From a settlement to what is written: values, and in words what they rest on.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "by_flat_view.hpp"
#include "compared.hpp"
#include "decide/decision.hpp"
#include "decide/tables/reserves.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/emit.hpp"
#include "project_times.hpp"
#include "settle.hpp"

namespace nsa::tuner {
namespace {

const ProjectStage& stage_of(const Project& project, Stage stage) {
  const auto found = std::ranges::find(project.stages, stage, &ProjectStage::stage);
  expects(found != project.stages.end(), "a stage of the project");
  return *found;
}

const ProjectPath& path_named(const ProjectStage& stage, SwitchTarget path) {
  const auto found = std::ranges::find(stage.paths, path, &ProjectPath::path);
  expects(found != stage.paths.end(), "a path of the stage");
  return *found;
}

std::string_view unit_of(Compared compared) {
  switch (compared) {
    case Compared::nothing:
      break;
    case Compared::seq_len:
      return "tokens";
    case Compared::window_row:
      return "keys in a window row";
    case Compared::compressed_tokens:
      return "compressed tokens";
    case Compared::selected_row:
      return "tokens in a selected row";
  }
  return "";
}

std::string words_for(const ProjectStage& stage, const SettledStage& settled) {
  const std::string_view path = path_named(stage, settled.setting->path).name;
  const auto least = settled.minimum.length();
  if (!least) return std::string(path);
  return fmt::format("{} from {} {} on, {} below", path, *least, unit_of(settled.setting->compared),
                     path_named(stage, settled.setting->below).name);
}

/// "0.51x the time of ranges_v1 [0.50, 0.52], 24 pairs"
std::string words_for(const Evidence& evidence) {
  if (!evidence.runner_up || !evidence.median_ratio)
    return "the file has no times of it against the project's other paths";
  std::string text =
      fmt::format("{:.3g}x the time of {}", *evidence.median_ratio, *evidence.runner_up);
  if (evidence.ratio_low && evidence.ratio_high)
    text += " " + format_interval(*evidence.ratio_low, *evidence.ratio_high);
  return text + fmt::format(", {}", counted(evidence.pairs, "pair"));
}

/// The decided range of the path that runs, else the first: its evidence is shown.
const PathRange* shown_range(const SettledStage& settled) {
  const PathRange* shown = nullptr;
  for (const PathRange& range : settled.decided) {
    if (range.undecided()) continue;
    if (range.path == settled.setting->path) return &range;
    if (!shown) shown = &range;
  }
  return shown;
}

/// "undecided at seq_len 1 to 99, 4096 and more, but a switch leaves no length as it is", or "".
std::string undecided_lengths(const SettledStage& settled, const ProblemClass& of) {
  std::vector<std::string> where;
  for (const PathRange& range : settled.decided) {
    if (!range.undecided()) continue;
    const bool ends = range.to <= last_on(settled.axis, of);
    where.push_back(ends ? fmt::format("{} to {}", range.from, range.to - 1)
                         : fmt::format("{} and more", range.from));
  }
  if (where.empty()) return "";
  return fmt::format("undecided at {} {}, but a switch leaves no length as it is",
                     to_string(settled.axis), fmt::join(where, ", "));
}

/// "0.47x the time of varlen v2, median of 5 problems; measured at seq_len 128 to 8192": the path
/// against the best other one, wherever both have times.
std::string words_for(const ProjectStage& stage, const SettledStage& settled,
                      const std::vector<PathPoint>& points) {
  const SwitchTarget own = settled.setting->path;
  std::vector<double> ratios;
  std::map<SwitchTarget, std::int64_t> rivals;
  std::int64_t first = 0, last = 0, problems = 0;
  for (const PathPoint& point : met(points)) {
    if (!point.ns.contains(own) || point.at > settled.up_to.value_or(point.at)) continue;
    if (point.first > 0) first = first == 0 ? point.first : std::min(first, point.first);
    last = std::max(last, point.last);
    problems += point.problems;
    const std::pair<const SwitchTarget, double>* rival = nullptr;
    for (const auto& other : point.ns) {
      if (other.first != own && (!rival || other.second < rival->second)) rival = &other;
    }
    ratios.insert(ratios.end(), static_cast<std::size_t>(point.problems),
                  point.ns.at(own) / rival->second);
    rivals[rival->first] += point.problems;
  }
  if (ratios.empty()) return "";
  const auto most = std::ranges::max_element(rivals, {}, [](const auto& r) { return r.second; });
  const std::string_view rival = path_named(stage, most->first).name;
  std::string text = fmt::format("{:.3g}x the time of {}", median(ratios), rival);
  if (problems > 1) text += fmt::format(", median of {} problems", problems);
  if (first == 0) return text;
  text += fmt::format("; measured at {} {}", to_string(settled.axis), first);
  return last > first ? text + fmt::format(" to {}", last) : text;
}

EmittedStage emitted(const Project& project, const SettledStage& settled, const PathTimes& times,
                     const ProblemClass& of) {
  const ProjectStage& stage = stage_of(project, settled.stage);
  EmittedStage result;
  result.stage = settled.stage;
  result.runs = words_for(stage, settled);
  result.caution = std::string(path_named(stage, settled.setting->path).caution);
  if (const std::string undecided = undecided_lengths(settled, of); !undecided.empty())
    result.caution += (result.caution.empty() ? "" : "; ") + undecided;
  for (const ProjectVariable& variable : settled.setting->variables)
    result.variables.emplace_back(variable.name);
  if (!settled.told.empty()) {
    result.why = settled.told;
  } else if (const PathRange* range = shown_range(settled)) {
    result.evidence = range->decided.evidence;
    result.why = to_string(range->decided.variant) + ": " + words_for(*result.evidence);
  }
  if (settled.told.empty()) result.measured = words_for(stage, settled, times.at(settled.stage));
  if (settled.up_to) result.up_to = LengthLimit{settled.axis, *settled.up_to};
  result.exact = settled.exact;
  result.loss = settled.loss_known ? std::optional(settled.loss) : std::nullopt;
  return result;
}

/// The path of selected attention that uses a workspace and runs at some length; none where another
/// one runs at all of them.
std::optional<SwitchTarget> user_of(const ProjectReserve& reserve, const Settlement& settled) {
  const SettledStage* selected = settled.find(Stage::attend_selected);
  if (!selected) return std::nullopt;
  const auto uses = [&](SwitchTarget path) {
    return std::ranges::find(reserve.paths, path) != reserve.paths.end();
  };
  if (uses(selected->setting->path)) return selected->setting->path;
  const bool two_run = selected->minimum.length().has_value();
  return two_run && uses(selected->setting->below) ? std::optional(selected->setting->below)
                                                   : std::nullopt;
}

void add_reserve(const Project& project, const ProjectReserve& reserve, const ClassDecisions& of,
                 const Settlement& settled, Emission& emission) {
  const auto path = user_of(reserve, settled);
  if (!path) return;
  EmittedReserve emitted;
  emitted.path = path_named(stage_of(project, Stage::attend_selected), *path).name;
  for (const ProjectReserveSize& size : reserve.sizes) {
    const auto value = of.reserves.*size.value;
    if (!value) continue;
    emitted.variables.emplace_back(size.variable);
    emission.values[std::string(size.variable)] = std::to_string(std::min(*value, size.most));
  }
  if (emitted.variables.empty()) return;
  if (const auto& gain = of.reserve_gains.*reserve.gain) {
    emitted.measured = describe(*gain);
    emitted.bytes = gain->bytes;
  }
  emission.reserves.push_back(std::move(emitted));
}

Emission emission_of(const Project& project, const ClassDecisions& of, const Device& device,
                     const std::string& executor, const Settlement& settled,
                     const PathTimes& times) {
  Emission result;
  result.project = project.name;
  result.of_class = to_string(of.problem_class);
  result.device = device.name;
  result.executor = executor;
  result.stand_ins = executor == kOwnExecutor;
  result.values = settled.values;
  result.notes = settled.notes;
  for (const SettledStage& stage : settled.stages)
    result.stages.push_back(emitted(project, stage, times, of.problem_class));
  for (const OpenStage& open : settled.open) {
    EmittedStage stage;
    stage.stage = open.stage;
    stage.why = open.reason;
    result.stages.push_back(std::move(stage));
  }
  std::ranges::sort(result.stages, {}, &EmittedStage::stage);
  for (const ProjectReserve& reserve : project.reserves)
    add_reserve(project, reserve, of, settled, result);
  if (device.backend == Backend::cpu)
    result.notes.push_back("decided on a CPU: says nothing of a GPU");
  return result;
}

}  // namespace

std::optional<Emission> emit_from_rows(const Project& project, const DecideInput& input,
                                       const ProblemClass& of,
                                       const std::optional<Problem>& longest) {
  DecideInput own = only(project, input);
  own.rows = own.rows.only([&](const Observation& row) { return class_of(*row.problem) == of; });
  if (own.rows.empty()) return std::nullopt;
  const ThresholdTable table = decide_ranges(where_paths_met(project, own)).table;
  expects(table.classes.size() <= 1, "rows of one class");
  ClassDecisions decided;
  decided.problem_class = of;
  if (!table.classes.empty()) decided = table.classes.front();
  const PathTimes times = path_times(project, own, of);
  Emission result =
      emission_of(project, decided, input.device, input.options.executor,
                  settle(project, decided, own.variants, times, input.device, {}, longest), times);
  result.source = fmt::format("runs {}", fmt::join(table.run_ids, ", "));
  return result;
}

Settlement settle_table(const Project& project, const ClassDecisions& of, const Device& device,
                        const std::string& executor, const std::vector<VariantTraits>& variants,
                        PathTimes& times, const std::optional<Problem>& longest) {
  ClassDecisions told = as_far_as_told(project, of, device, variants, times);
  Known known = by_flat_view(project, of, told, variants, device, executor == kOwnExecutor);
  CarriedTimes carried = carried_times(project, of, variants);
  for (auto& [stage, points] : carried.times) {
    std::erase_if(told.decisions, [&](const Decision& decision) {
      return decision.stages == std::vector{std::string(to_string(stage))};
    });
    known.erase(stage);
    times[stage] = std::move(points);
  }
  std::ranges::move(carried.decisions, std::back_inserter(told.decisions));
  return settle(project, told, carried.variants, times, device, known, longest);
}

Emission emit_from_table(const Project& project, const ThresholdTable& table,
                         const ClassDecisions& of, const std::vector<VariantTraits>& variants,
                         const std::optional<Problem>& longest) {
  PathTimes times;
  const Settlement settled =
      settle_table(project, of, table.device, table.executor, variants, times, longest);
  Emission result = emission_of(project, of, table.device, table.executor, settled, times);
  result.source = fmt::format("runs {}", fmt::join(table.run_ids, ", "));
  return result;
}

}  // namespace nsa::tuner
