#include "path_ranges.hpp"

#include <algorithm>

#include "compared.hpp"
#include "nsa/schemas/executor.hpp"

namespace nsa::tuner {

bool in_phase(unsigned phases, Phase phase) {
  return (phases & 1u << static_cast<unsigned>(phase)) != 0;
}

namespace {

/// One of the project's ways that a setting may choose.
bool has(const ProjectPath& path, Phase phase) {
  return in_phase(path.phases, phase) && path.settable;
}

}  // namespace

bool can_take(const Project& project, const ProjectPath& path, const ProblemClass& of,
              const Device& device) {
  if (!has(path, of.phase)) return false;
  return project.takes_all || path.refuses(of, device).empty();
}

SwitchTarget named_path(const VariantId& id, const std::vector<VariantTraits>& variants) {
  const auto found = std::ranges::find(variants, id, &VariantTraits::id);
  if (found != variants.end()) return found->path;
  return switch_target_of(id.name).value_or(SwitchTarget::none);
}

DecideInput only(const Project& project, const DecideInput& input) {
  DecideInput result;
  result.device = input.device;
  result.validators = input.validators;
  result.complete = input.complete;
  result.options = input.options;
  const bool stand_ins = input.options.executor == kOwnExecutor;
  std::map<VariantId, const ProjectPath*> paths;  // nullptr: not one of the project's
  for (const VariantTraits& traits : input.variants) {
    if (traits.direction != Direction::forward) continue;  // a backward row can share the id
    const ProjectPath*& path = paths[traits.id] = path_of(project, traits.id, traits.path);
    if (traits.baseline || !(traits.eligible || (path && path->even_slow))) path = nullptr;
    if (!path) continue;
    result.variants.push_back(traits);
    result.variants.back().eligible = true;
  }
  result.rows = input.rows.only([&](const Observation& row) {
    if (row.problem->direction != Direction::forward) return false;  // switches of forward paths
    auto at = paths.find(*row.variant);
    if (at == paths.end()) {
      const SwitchTarget named = named_path(*row.variant, input.variants);
      at = paths.emplace(*row.variant, path_of(project, *row.variant, named)).first;
    }
    const ProjectPath* path = at->second;
    if (!path) return false;
    const ProblemClass of = class_of(*row.problem);
    // What somebody else measured of a path that the project refuses is still known against others.
    return stand_ins ? can_take(project, *path, of, input.device) : has(*path, of.phase);
  });
  return result;
}

std::vector<PathRange> path_ranges(const Project& project, const Decision& decision,
                                   const ProblemClass& of,
                                   const std::vector<VariantTraits>& variants) {
  std::vector<PathRange> ranges;
  const std::int64_t end = last_on(decision.axis, of) + 1;
  for (const ThresholdRange& range : decision.ranges) {
    const ProjectPath* path = path_of(project, range.variant, named_path(range.variant, variants));
    // No row is shorter than one token.
    const std::int64_t from = std::max<std::int64_t>(range.from, 1);
    const std::int64_t to = std::min(range.to.value_or(end), end);
    if (!path || from >= to) continue;
    const bool undecided = range.basis == Basis::undecided;
    const bool goes_on = !ranges.empty() && ranges.back().to == from &&
                         ranges.back().path == path->path && ranges.back().undecided() == undecided;
    if (goes_on) {
      ranges.back().to = to;
    } else {
      ranges.push_back({from, to, path->path, range});
    }
  }
  return ranges;
}

}  // namespace nsa::tuner
