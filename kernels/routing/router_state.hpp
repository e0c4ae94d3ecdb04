// Everything that a Router works out once, and the decision over it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "env_policy.hpp"
#include "nsa/kernels/routing.hpp"
#include "table_index.hpp"

namespace nsa {
namespace routing {

enum TableSlot : std::size_t { kThresholdsSlot, kShippedSlot, kTableSlots };

/// Where one class stands in both tables, for all stages: what a thread remembers of it.
struct ClassPlace {
  std::uint64_t router = 0;  // 0 = nothing remembered
  ClassKey key;
  std::array<std::array<ClassFit, kStageCount>, kTableSlots> fits;
};

/// The wish of the API for one stage.
struct ApiWish {
  int row = kNoRow;
  std::optional<Point> point;  // nothing: the default of the problem at hand
  std::string unusable;        // why it cannot run on this device at all
};

using AllPolicies = std::array<StagePolicy, kStageCount>;

/// What explain() says of a Choice beside it.
struct Why {
  const EnvRule* rule = nullptr;  // of the environment, when one made it
  std::optional<Axis> axis;       // of the table's decision
};
struct Decided : Why {
  Choice choice;
};

}  // namespace routing

struct Router::State {
  explicit State(Inputs given);

  /// The decision by these policies (null: without environment and API, as explain() asks).
  routing::Decided decide(Stage stage, const Problem& problem,
                          const routing::AllPolicies* by) const noexcept {
    routing::Decided decided;
    decide(stage, problem, by, decided.choice, decided);
    return decided;
  }
  /// The same into the caller's (empty) objects: choose() is a few nanoseconds of work, and copying
  /// fields that were written one by one costs as much again.
  void decide(Stage stage, const Problem& problem, const routing::AllPolicies* by, Choice& choice,
              routing::Why& why) const noexcept;
  const routing::ClassPlace& place_of(const Problem& problem) const noexcept;
  void find_place(const Problem& problem, const routing::ClassKey& key,
                  routing::ClassPlace& place) const noexcept;

  Inputs inputs;
  std::uint64_t id = 0;  // unique in the process, never 0
  routing::AllStageRows rows;
  std::array<std::optional<routing::ApiWish>, kStageCount> api;
  routing::AllPolicies policies;
  std::array<routing::TableIndex, routing::kTableSlots> tables;
  std::vector<std::string> warnings;
};

namespace routing {

AllPolicies make_policies(const AllStageRows& rows, const EnvSnapshot& environment);
/// Reserves by precedence: `environment`, thresholds, shipped; bounded by the device's memory.
Reserves reserves_of(const Router::State& state, const Problem& problem,
                     const EnvSnapshot& environment) noexcept;
/// Lines about reserves that are negative or over their limit.
std::vector<std::string> reserve_warnings(const EnvSnapshot& environment);

}  // namespace routing
}  // namespace nsa
