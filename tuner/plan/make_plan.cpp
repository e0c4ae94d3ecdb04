// From problems and candidates to contests: variants of the same stages on the same problem
// compete.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/observations.hpp"
#include "nsa/tuner/plan.hpp"
#include "nsa/tuner/refine.hpp"
#include "plan/contest_id.hpp"
#include "plan/estimate.hpp"

namespace nsa::tuner {
namespace {

std::string joined(const std::vector<std::string>& stages) {
  return fmt::format("{}", fmt::join(stages, "+"));
}

bool covers(const std::vector<std::string>& allowed, const std::vector<std::string>& stages) {
  const auto in_allowed = [&](const std::string& stage) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& glob) {
      return fnmatch(glob.c_str(), stage.c_str(), 0) == 0;
    });
  };
  return allowed.empty() || std::all_of(stages.begin(), stages.end(), in_allowed);
}

/// Whether a row of ours has one of the roles that the family measures.
bool has_role(const ProblemFamily& family, const Candidate& candidate, Backend backend) {
  if (family.roles.empty()) return true;
  const Variant* row = find_variant(candidate.id, backend, candidate.direction);
  return row && std::ranges::find(family.roles, role_name(row->role)) != family.roles.end();
}

/// A family's lists are of rows of ours. What a worker of somebody else brings is measured on the
/// families that name its stages, whatever its name, and where none does, on all of them: a stage
/// of ours needs the problems that were made for it, and of another one nobody knows.
bool of_family(const SweepSpec& spec, const ProblemFamily& family, const Candidate& candidate,
               Backend backend) {
  const bool named = covers(family.stages, candidate.id.stages);
  if (candidate.executor == kOwnExecutor)
    return named && matches_any(family.variants, candidate.id) &&
           has_role(family, candidate, backend);
  return named || std::none_of(spec.families.begin(), spec.families.end(), [&](const auto& other) {
           return covers(other.stages, candidate.id.stages);
         });
}

bool wanted(const SweepSpec& spec, const ProblemFamily& family, const Candidate& candidate,
            Backend backend) {
  return covers(spec.stages, candidate.id.stages) && matches_any(spec.variants, candidate.id) &&
         of_family(spec, family, candidate, backend);
}

/// Collects candidates by contest. Two families may name one problem: each candidate is asked about
/// once.
class Builder {
 public:
  Builder(const Device& device, Describe describe, void* context)
      : device_(device), describe_(describe), context_(context) {}

  void add(const Problem& problem, const Candidate& candidate, LaunchMode launch,
           bool held_out = false) {
    const std::string id = contest_id(problem, candidate.id.stages, launch);
    if (!seen_.insert(id + to_string(candidate.id) + '@' + candidate.executor).second) return;
    Description description = asked(problem, candidate, launch);
    if (!description.supported) {
      plan_.skipped.push_back(
          {problem, candidate, description.outcome, description.reason, launch, held_out});
      return;
    }
    Contest& contest = contest_of(id, problem, candidate.id.stages);
    contest.held_out = held_out;
    contest.launch = launch;
    contest.variants.push_back(candidate);
    contest.described.push_back(std::move(description));
  }

  Plan finish(const SweepSpec& spec) {
    for (Contest& contest : plan_.contests)
      contest.estimated_s = estimate_contest_s(contest, spec.policy, device_);
    std::stable_sort(
        plan_.contests.begin(), plan_.contests.end(),
        [](const Contest& a, const Contest& b) { return a.estimated_s < b.estimated_s; });
    if (spec.contest_limit_s) leave_out_above(*spec.contest_limit_s);
    for (const Contest& contest : plan_.contests) plan_.estimated_s += contest.estimated_s;
    return std::move(plan_);
  }

 private:
  /// Of contests in the order of their estimates, the last.
  void leave_out_above(double limit_s) {
    const auto over = std::ranges::upper_bound(plan_.contests, limit_s, {}, &Contest::estimated_s);
    plan_.left_out.assign(std::move_iterator(over), std::move_iterator(plan_.contests.end()));
    plan_.contests.erase(over, plan_.contests.end());
    for (const Contest& contest : plan_.left_out) {
      const std::string reason =
          fmt::format("{}estimated at {:.0f} s here, and contest_limit_s is {:.0f} s",
                      kContestLeftOut, contest.estimated_s, limit_s);
      for (const Candidate& candidate : contest.variants)
        plan_.skipped.push_back({contest.problem, candidate, Outcome::unsupported, reason,
                                 contest.launch, contest.held_out});
    }
  }

  Description asked(const Problem& problem, const Candidate& candidate, LaunchMode launch) {
    if (launch == LaunchMode::graph && device_.backend != Backend::cuda) {
      Description none;
      none.supported = false;
      none.reason = "only a CUDA device replays graphs of launches";
      return none;
    }
    return describe_(context_, problem, candidate);
  }
  Contest& contest_of(const std::string& id, const Problem& problem,
                      const std::vector<std::string>& stages) {
    const auto [it, is_new] = index_.try_emplace(id, plan_.contests.size());
    if (is_new) plan_.contests.push_back({id, problem, stages, {}, {}, 0});
    return plan_.contests[it->second];
  }

  const Device& device_;
  Describe describe_;
  void* context_;
  Plan plan_;
  std::set<std::string> seen_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

std::string_view role_name(Role role) noexcept {
  switch (role) {
    case Role::candidate:
      return "candidate";
    case Role::slow_path:
      return "slow_path";
    case Role::reduced_precision:
      return "reduced_precision";
    case Role::baseline:
      return "baseline";
  }
  return "invalid";
}

std::string contest_id(const Problem& problem, const std::vector<std::string>& stages,
                       LaunchMode launch) {
  const std::string text = Json(problem).dump() + joined(stages);
  return hash_hex(launch == LaunchMode::eager ? text : text + std::string(to_string(launch)));
}

MeasurePolicy with_launch(MeasurePolicy policy, LaunchMode launch) {
  policy.launch = launch;
  return policy;
}

std::string class_text(const Problem& problem) {
  const ModelShape& model = problem.model;
  return fmt::format("{} model {} {} {}", to_string(class_of(problem)), model.model_dim,
                     model.layers, model.vocab_size);
}

Plan make_plan(const SweepSpec& spec, const Device& device,
               const std::vector<Candidate>& candidates, Describe describe, void* context) {
  Builder builder(device, describe, context);
  for (const ProblemFamily& family : spec.families) {
    const LaunchMode launch = family.launch.value_or(spec.policy.launch);
    for (const Problem& problem : expand(spec, family)) {
      for (const Candidate& candidate : candidates) {
        if (candidate.direction == problem.direction &&
            wanted(spec, family, candidate, device.backend))
          builder.add(problem, candidate, launch);
      }
    }
  }
  return builder.finish(spec);
}

Plan plan_of(const std::vector<Refinement>& refinements, const SweepSpec& spec,
             const Device& device, const std::vector<Candidate>& candidates, Describe describe,
             void* context) {
  Builder builder(device, describe, context);
  for (const Refinement& refinement : refinements) {
    for (const Candidate& candidate : candidates) {
      const bool competes =
          candidate.executor == refinement.executor &&
          candidate.direction == refinement.problem.direction &&
          std::ranges::find(refinement.variants, candidate.id) != refinement.variants.end();
      if (competes)
        builder.add(refinement.problem, candidate, spec.policy.launch, refinement.held_out);
    }
  }
  return builder.finish(spec);
}

Timer timer_of(const MeasurePolicy& policy, const Device& device) {
  if (policy.timer) return *policy.timer;
  return device.backend == Backend::cuda ? Timer::events : Timer::host;
}

}  // namespace nsa::tuner
