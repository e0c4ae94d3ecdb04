// Which lengths a sweep adds to those of its spec, by what it has seen so far. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/tuner/decide.hpp"
#include "nsa/tuner/plan.hpp"
#include "nsa/tuner/sweep.hpp"

namespace nsa::tuner {

/// One problem to add, and who competes on it.
struct Refinement {
  Problem problem;
  std::vector<std::string> stages;
  std::string executor;
  std::vector<VariantId> variants;
  bool held_out = false;  // judges the decision, and has no part in it
};

/// What earlier calls have looked at: races that got no rows since then ask for nothing new.
struct Refined {
  std::map<std::string, std::size_t> rows;  // of each race
};

/// The next problems, by the rows of one executor: none when nothing is open.
/// - held-out lengths between those of the spec: a share of policy.held_out, one at least where
///   there are three;
/// - where a held-out length loses more than 2 % by what its neighbours chose, a length between it
///   and each of them, and another held-out one where the lengths are the farthest apart, as long
///   as that is a tenth or more (all of them at once where no length is left to add);
///   likewise a length on either side of a measured one at which another variant than that of its
///   range is 2 % faster, but not surely; only then
/// - where the choice changes between two measured lengths that are more than 1 % apart, a length
///   between them, as long as the wrong choice there would cost more than a tie, and more than .1 %
///   of an octave;
/// - above the longest length, as long as variants of other orders compete there, up to 16 times
///   the longest of the spec.
/// The same rows give the same problems, so a sweep that was killed goes on with them. Who calls it
/// again as rows come in keeps `refined`.
std::vector<Refinement> refine(const DecideInput& input, const SweepSpec& spec, Refined& refined);
/// The same, without a memory of earlier calls.
std::vector<Refinement> refine(const DecideInput& input, const SweepSpec& spec);

/// The contests of refinements, as make_plan() makes those of a spec. Executors whose variants are
/// refined alike compete in one contest.
Plan plan_of(const std::vector<Refinement>& refinements, const SweepSpec& spec,
             const Device& device, const std::vector<Candidate>& candidates, Describe describe,
             void* context);

/// The same with workers that describe their variants, as plan_with_workers() does for a spec.
Plan plan_with_workers(const std::vector<Refinement>& refinements, const SweepSpec& spec,
                       const Device& device, const std::vector<WorkerCommand>& workers,
                       const Discovery& discovery, const Asking& asking = {});

}  // namespace nsa::tuner
