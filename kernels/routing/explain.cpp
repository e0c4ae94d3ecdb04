// explain(): every decision of one problem with its evidence and its source, in words.
#include <algorithm>
#include <array>
#include <cmath>

#include "explanations.hpp"
#include "nsa/kernels/decision_axis.hpp"

namespace nsa {
namespace routing {
namespace {

VariantId id_of(const Choice& choice) {
  VariantId id;
  id.stages.clear();
  for (const Stage stage : choice.variant->stages) id.stages.emplace_back(to_string(stage));
  id.name = std::string(choice.variant->name);
  id.point = *choice.point;
  return id;
}

std::string range_words(const ThresholdRange& range, Axis axis, const std::string& file) {
  return std::string(to_string(axis)) + " [" + std::to_string(range.from) + ", " +
         (range.to ? std::to_string(*range.to) : "...") + ") of " + file;
}

std::string table_name(const RouterState& state, Source source) {
  const std::string& path =
      source == Source::shipped ? state.inputs.shipped_path : state.inputs.table_path;
  if (!path.empty()) return path;
  return source == Source::shipped ? "the shipped thresholds" : "the thresholds";
}

/// Why no row runs: the reasons of all rows.
std::string no_variant_words(const RouterState& state, Stage stage, const Problem& problem) {
  std::string words;
  for (const Row& row : state.rows[slot_of(stage, problem.direction)].rows) {
    const std::string reason = why_not(row, problem, state.inputs.device);
    if (!reason.empty()) words += (words.empty() ? "" : "; ") + reason;
  }
  return "no variant runs this: " + words;
}

/// Which lengths go by a range of a table, where these are not all: " for multiples of 16".
std::string multiples_words(const ThresholdTable& table, const ThresholdRange& wanted) {
  for (const ClassDecisions& of : table.classes)
    for (const Decision& decision : of.decisions) {
      if (!decision.alignment) continue;
      for (const ThresholdRange& range : decision.alignment->ranges)
        if (&range == &wanted)
          return " for multiples of " + std::to_string(decision.alignment->multiple);
    }
  return "";
}

/// "range of FILE" of what a table decided.
std::string table_words(const RouterState& state, const Choice& choice, std::optional<Axis> axis) {
  const auto& table = choice.source == Source::shipped ? state.inputs.shipped : state.inputs.table;
  std::string file = table_name(state, choice.source);
  if (!choice.range) return "runner-up of a range of " + file;
  if (table) file += multiples_words(*table, *choice.range);
  // A part of a composite goes by the axis of the composite's decision, which the range knows not.
  return axis ? range_words(*choice.range, *axis, file)
              : to_string(choice.range->variant) + " of " + file;
}

bool saves(const Variant& row) {
  const auto directions = directions_of(row);
  return std::ranges::find(directions, kForwardSaving) != directions.end();
}

std::string source_words(const RouterState& state, const Decided& decided) {
  const Choice& choice = decided.choice;
  switch (choice.source) {
    case Source::api:
      return "asked for by the caller";
    case Source::environment:
      return decided.rule ? decided.rule->cause : "the environment";
    case Source::thresholds:
    case Source::shipped:
      return table_words(state, choice, decided.within ? std::nullopt : decided.axis) +
             (decided.as_forward && saves(*choice.variant)
                  ? ", taken from launches that do not save: no measured decision for launches "
                    "that save here"
                  : "");
    case Source::built_in:
      return "the first of the built-in order that runs this problem";
  }
  return "";
}

std::string why_words(const RouterState& state, Stage stage, const Problem& problem,
                      const Decided& decided) {
  const Choice& choice = decided.choice;
  if (!choice.variant) return no_variant_words(state, stage, problem);
  std::string words;
  if (decided.within) {
    words = "a part of " + std::string(to_string(decided.within->stages.front())) + "/" +
            std::string(decided.within->name) + ": ";
  } else if (choice.range && choice.range->variant.stages.size() > choice.variant->stages.size()) {
    words = "a part of " + to_string(choice.range->variant) + ": ";  // a row of a sequence
  }
  return words + source_words(state, decided);
}

/// Time of `chosen` over the time of what the range chose, where the two were measured together.
std::optional<double> cost_of(const VariantId& chosen, const ThresholdRange* replaced) {
  if (!replaced) return std::nullopt;
  if (chosen == replaced->variant) return 1.0;
  const Evidence& evidence = replaced->evidence;
  if (!evidence.runner_up || *evidence.runner_up != to_string(chosen)) return std::nullopt;
  if (!evidence.median_ratio || !(*evidence.median_ratio > 0)) return std::nullopt;
  return 1.0 / *evidence.median_ratio;
}

/// What a stronger source replaced, and what that costs.
void add_override(Explanation& line, const Choice& chosen, const Choice& without) {
  const bool strong = chosen.source == Source::api || chosen.source == Source::environment;
  if (!strong || !chosen.variant || !without.variant) return;
  const VariantId id = id_of(chosen), replaced = id_of(without);
  if (id == replaced) return;
  line.overridden = to_string(replaced);
  line.overridden_source = without.source;
  line.override_cost = cost_of(id, without.range);
}

Explanation explain_stage(const RouterState& state, Stage stage, const Problem& problem,
                          const Decided& decided, const Choice& without) {
  const Choice& choice = decided.choice;
  Explanation line;
  line.stages = {stage};
  line.axis = decided.axis.value_or(decision_axis(stage, problem.phase, problem.direction));
  line.axis_value = axis_value(problem, line.axis);
  line.source = choice.source;
  line.fit = choice.fit;
  line.device_fit = choice.device_fit;
  line.stale = choice.stale;
  line.why = why_words(state, stage, problem, decided);
  if (choice.fallback_reason) line.fallback_reason = choice.fallback_reason;
  if (choice.range) {
    line.evidence = choice.range->evidence;
    line.basis = choice.range->basis;
  }
  if (!choice.variant) return line;
  line.stages.assign(choice.variant->stages.begin(), choice.variant->stages.end());
  line.variant = to_string(id_of(choice));
  line.slow_path = choice.variant->role == Role::slow_path;
  add_override(line, choice, without);
  return line;
}

/// Stages that need the model around the attention say nothing of a problem without one.
bool applies(const RouterState& state, Stage stage, const Problem& problem) {
  if (state.rows[slot_of(stage, problem.direction)].rows.empty()) return false;
  // A training step runs the stages by decisions of their own, and of both passes their plan.
  const bool composite = stage >= Stage::attention;
  if (problem.direction != Direction::forward &&
      composite != (problem.direction == kForwardBackward))
    return false;
  const bool needs_model = stage == Stage::project_rope || stage == Stage::out_proj ||
                           stage == Stage::layer || stage == Stage::model;
  return !needs_model || problem.model.model_dim > 0;
}

void add_slow_path_warnings(ExplainReport& report) {
  for (const Explanation& line : report.decisions) {
    if (!line.slow_path) continue;
    report.warnings.push_back(
        "Using slow _sdpa_over_ranges: " + line.variant + " because of " + line.why +
        (line.overridden ? "; without it " + *line.overridden + " would run" : std::string()));
  }
}

}  // namespace
}  // namespace routing

ExplainReport explain(const Router& router, const Problem& problem) {
  const routing::RouterState& state = RouterInside::of(router);
  ExplainReport report;
  report.device = state.inputs.device;
  report.device_fit = router.device_fit();
  report.problem = problem;
  if (state.tables[routing::kThresholdsSlot].usable) {
    report.table_path = state.inputs.table_path;
  } else if (state.tables[routing::kShippedSlot].usable) {
    report.table_path = state.inputs.shipped_path;
  }
  const auto decided = routing::decide_all(state, problem, &state.policies);
  const auto without = routing::decide_all(state, problem, nullptr);
  std::array<bool, kStageCount> said{};
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (said[i] || !routing::applies(state, stage, problem)) continue;
    report.decisions.push_back(
        routing::explain_stage(state, stage, problem, decided[i], without[i].choice));
    for (const Stage covered : report.decisions.back().stages) {
      said[static_cast<std::size_t>(covered)] = true;
    }
  }
  report.reserves = router.reserves(problem);
  report.options = options_from(state.inputs.environment);
  for (const routing::TableIndex& table : state.tables) {
    if (!table.usable) continue;
    report.validators = table.validators;
    break;
  }
  report.names = routing::name_effects(state, problem);
  report.warnings = router.warnings();
  routing::add_slow_path_warnings(report);
  return report;
}

}  // namespace nsa
