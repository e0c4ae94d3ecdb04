// Everything that a Router works out once, and the decision over it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "nsa/kernels/routing.hpp"
#include "routing/env/policy.hpp"
#include "table_index.hpp"

namespace nsa {
namespace routing {

enum TableSlot : std::size_t { kThresholdsSlot, kShippedSlot, kTableSlots };

/// What one table decides for one class and stage or span; null: nothing.
struct PlacedDecision {
  const DecisionIndex* decision = nullptr;  // of the table, which lives as long as the router
  Fit fit = Fit::built_in;
  Source source = Source::thresholds;  // which table it is
  DeviceFit device_fit = DeviceFit::built_in;
  bool as_forward = false;  // of launches that save: the decision is that of those that do not
  /// Likewise, of the same fit: for lengths at which this decision rests on no measurement.
  const DecisionIndex* forward = nullptr;
};
/// Where one class stands in the tables, for all stages and spans of them: what a thread remembers
/// of it.
struct ClassPlace {
  std::uint64_t router = 0;  // 0 = nothing remembered
  ClassKey key;
  /// The decisions that there are, the strongest table first.
  std::array<std::array<PlacedDecision, kTableSlots>, kSlots> decisions;
};

/// The wish of the API for one stage.
struct ApiWish {
  int row = kNoRow;
  std::optional<Point> point;  // nothing: the default of the problem at hand
  std::string unusable;        // why it cannot run on this device at all
};

/// Spans of stages have none: a variable asks for a row of one stage.
using AllPolicies = std::array<StagePolicy, kSlots>;

/// The point of a row without coordinates.
inline const Point kNoPoint;

/// What explain() says of a Choice beside it.
struct Why {
  const EnvRule* rule = nullptr;    // of the environment, when one made it
  std::optional<Axis> axis;         // of the table's decision
  const Variant* within = nullptr;  // the composite whose plan names the row
  bool as_forward = false;          // as PlacedDecision has it
};
struct Decided : Why {
  Choice choice;
};

}  // namespace routing

struct Router::State {
  explicit State(Inputs given);

  /// The decision by these policies (null: without environment and API, as explain() asks) for the
  /// stage or span in that place of `rows`.
  routing::Decided decide(std::size_t slot, const Problem& problem, const routing::AllPolicies* by,
                          Form form = Form::any) const noexcept {
    routing::Decided decided;
    decide(slot, problem, by, form, decided.choice, decided);
    return decided;
  }
  /// The same into the caller's (empty) objects: choose() is a few nanoseconds of work, and copying
  /// fields that were written one by one costs as much again.
  void decide(std::size_t slot, const Problem& problem, const routing::AllPolicies* by, Form form,
              Choice& choice, routing::Why& why) const noexcept;
  /// The decision by the router's own policies, without a reason.
  Choice choose(std::size_t slot, const Problem& problem, Form form) const noexcept;
  // The two that it is made of. Each makes the choice where it is returned: one function that made
  // both would copy it, which takes as long as a tenth of a decision.
  Choice choose_unasked(std::size_t slot, const Problem& problem, Form form) const noexcept;
  Choice choose_as_asked(std::size_t slot, const Problem& problem, Form form) const noexcept;
  /// decide() where the API or the environment may ask for something.
  void decide_as_asked(std::size_t slot, const Problem& problem, const routing::AllPolicies& by,
                       Form form, Choice& choice, routing::Why& why) const noexcept;
  /// Whether the API or the environment decides one of the stages.
  bool asked(std::span<const Stage> stages, const Problem& problem,
             const routing::AllPolicies& by) const noexcept;
  /// Replaces what a stage would run by itself by the row that the composite's plan names for it,
  /// unless the stage's own decision is of a stronger source, or fits the problem better.
  void bind_part(const Choice& within, Stage stage, const Problem& problem, Choice& own,
                 routing::Why& why) const noexcept;
  /// Into an empty segmentation, and into whys[0 .. kMost) where they are asked for.
  void segment(std::span<const Stage> stages, const Problem& problem,
               const routing::AllPolicies* by, const Choice* within, Segmentation& segmentation,
               routing::Why* whys = nullptr) const noexcept;
  /// Replaces a sequence, which is all that the segmentation holds, by its rows, each with what the
  /// table says of the sequence.
  void in_turn(const routing::StageRows& span, const Problem& problem,
               Segmentation& segmentation) const noexcept;
  /// Of the problem, whose small fields are `small`; this thread's.
  const routing::ClassPlace& place_of(const Problem& problem, std::uint64_t small) const noexcept;
  void find_place(const Problem& problem, const routing::ClassKey& key,
                  routing::ClassPlace& place) const noexcept;

  Inputs inputs;
  std::uint64_t id = 0;  // unique in the process, never 0
  routing::AllStageRows rows;
  std::array<std::optional<routing::ApiWish>, routing::kSlots> api;
  routing::AllPolicies policies;
  bool quiet = false;  // neither the API nor the environment asks for anything
  std::array<routing::TableIndex, routing::kTableSlots> tables;
  bool has_table = false;  // one that is usable
  std::vector<std::string> warnings;
};

/// What the other files here see of a Router.
struct RouterInside {
  using State = Router::State;
  static const State& of(const Router& router) noexcept { return *router.state_; }
};

namespace routing {

using RouterState = RouterInside::State;

AllPolicies make_policies(const AllStageRows& rows, const EnvSnapshot& environment);
/// Reserves by precedence: `environment`, thresholds, shipped; bounded by the device's memory.
Reserves reserves_of(const RouterState& state, const Problem& problem,
                     const EnvSnapshot& environment) noexcept;
/// Lines about reserves that are negative or over their limit.
std::vector<std::string> reserve_warnings(const EnvSnapshot& environment);

}  // namespace routing
}  // namespace nsa
