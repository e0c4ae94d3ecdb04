// One decision: API, environment, thresholds file, shipped table, built-in default, in this order.
// No lock and no allocation: a thread remembers where the last classes stand in the tables, and a
// row is asked whether it supports the problem (a row that says no makes its reason in words; that
// is the one case which may allocate, and each is counted as a fallback).
#include "router_state.hpp"

namespace nsa {
namespace routing {
namespace {

const Point kNoPoint;
constexpr std::size_t kRemembered = 32;  // classes per thread; a power of two

/// The state of one decision on its way down the sources.
class Walk {
 public:
  Walk(const Router::State& state, Stage stage, const Problem& problem, const StagePolicy* policy,
       Choice& choice, Why& why) noexcept
      : state_(state),
        rows_(state.rows[static_cast<std::size_t>(stage)]),
        stage_(stage),
        problem_(problem),
        policy_(policy && !policy->empty() ? policy : nullptr),
        choice_(choice),
        why_(why) {}

  void decide(const ApiWish* wish) noexcept {
    const bool done = (wish && from_api(*wish)) || (policy_ && from_environment()) ||
                      from_table(kThresholdsSlot, Source::thresholds) ||
                      from_table(kShippedSlot, Source::shipped) || from_built_in();
    if (!done) choice_.fallback_reason = reason_;
  }

 private:
  const Row& row_at(int row) const noexcept { return rows_.rows[static_cast<std::size_t>(row)]; }

  void missed(const char* reason) noexcept {
    if (!reason_) reason_ = reason;
  }

  bool runs_here(int row) noexcept {
    const Row& candidate = row_at(row);
    if (runs(candidate, problem_, state_.inputs.device)) return true;
    missed((candidate.usable ? candidate.unsupported : candidate.unusable).c_str());
    return false;
  }

  bool take(int row, const Point& point, Source source) noexcept {
    choice_.variant = row_at(row).variant;
    choice_.point = &point;
    choice_.source = source;
    choice_.fallback_reason = reason_;
    return true;
  }

  bool from_api(const ApiWish& wish) noexcept {
    if (!runs_here(wish.row)) return false;
    return take(wish.row, wish.point ? *wish.point : row_at(wish.row).default_point(problem_),
                Source::api);
  }

  bool from_environment() noexcept {
    const EnvRule* failed = nullptr;
    for (const EnvRule& rule : policy_->picks) {
      if (!rule.holds(problem_)) continue;
      if (rule.target == kNoRow) {
        missed(rule.missing.c_str());
      } else if (runs_here(rule.target)) {
        // Another form of what was asked for is no fallback.
        if (failed && failed->cause == rule.cause) reason_ = nullptr;
        why_.rule = &rule;
        const int row = swapped(rule.target);
        return take(row, row_at(row).default_point(problem_), Source::environment);
      }
      if (!failed) failed = &rule;
    }
    return false;
  }

  /// The rule that rules `row` out, or null.
  const EnvRule* vetoed(int row) const noexcept {
    if (!policy_) return nullptr;
    for (const EnvRule& rule : policy_->vetoes) {
      if ((rule.rows & bit(row)) && rule.holds(problem_)) return &rule;
    }
    return nullptr;
  }

  /// The row that stands in for `row` by the swaps, or `row` itself.
  int swapped(int row) noexcept {
    if (!policy_) return row;
    for (const EnvRule& rule : policy_->swaps) {
      if (!(rule.rows & bit(row)) || rule.target == row || !rule.holds(problem_)) continue;
      if (!runs_here(rule.target)) continue;
      why_.rule = &rule;
      row = rule.target;
    }
    return row;
  }

  /// Takes a row that a weaker source proposes, unless the environment rules it out or replaces it.
  bool propose(int row, const Point& point, Source source) noexcept {
    if (const EnvRule* rule = vetoed(row)) {
      veto_ = rule;
      return false;
    }
    if (!runs_here(row)) return false;
    const int final_row = swapped(row);
    if (final_row != row) {
      return take(final_row, row_at(final_row).default_point(problem_), Source::environment);
    }
    if (veto_) {
      why_.rule = veto_;
      return take(row, point, Source::environment);
    }
    return take(row, point, source);
  }

  bool from_table(TableSlot slot, Source source) noexcept {
    const TableIndex& table = state_.tables[slot];
    if (!table.usable) return false;
    const auto stage = static_cast<std::size_t>(stage_);
    if (!place_) place_ = &state_.place_of(problem_);
    const ClassFit fit = place_->fits[slot][stage];
    if (fit.index < 0) return false;
    const DecisionIndex& decision =
        table.classes[static_cast<std::size_t>(fit.index)].decisions[stage];
    const RangeIndex* range = decision.find(axis_value(problem_, decision.axis));
    if (!range) return false;
    const bool taken = propose_range(*range, source);
    // What the environment made of it has no evidence of its own.
    if (!taken || choice_.source != source) return taken;
    why_.axis = decision.axis;
    choice_.fit = fit.fit;
    choice_.device_fit = table.device_fit;
    return true;
  }

  bool propose_range(const RangeIndex& range, Source source) noexcept {
    if (range.skipped) {
      missed(range.skipped->c_str());
    } else if (propose(range.row, *range.point, source)) {
      if (choice_.source == source) {
        choice_.range = range.range;
        choice_.stale = range.stale;
      }
      return true;
    }
    // The second best of the same measurement beats what is known without one.
    return range.runner_up != kNoRow && propose(range.runner_up, *range.runner_up_point, source);
  }

  bool from_built_in() noexcept {
    for (const int row : rows_.built_in) {
      // That the default's first choice cannot run a problem is no unmet wish.
      const char* wish = reason_;
      const bool taken = propose(row, row_at(row).default_point(problem_), Source::built_in);
      if (!wish && !taken) reason_ = nullptr;
      if (taken) return true;
    }
    // Something has to run: what was ruled out is better than nothing.
    if (!veto_) return none_left();
    missed("ruled out by the environment, but nothing else runs this");
    for (const int row : rows_.built_in) {
      if (runs(row_at(row), problem_, state_.inputs.device)) {
        return take(row, row_at(row).default_point(problem_), Source::built_in);
      }
    }
    return none_left();
  }

  bool none_left() noexcept {
    if (!rows_.built_in.empty()) missed(row_at(rows_.built_in.front()).unsupported.c_str());
    return false;
  }

  const Router::State& state_;
  const StageRows& rows_;
  Stage stage_;
  const Problem& problem_;
  const StagePolicy* policy_;
  Choice& choice_;
  Why& why_;
  const ClassPlace* place_ = nullptr;  // in both tables; of this thread
  const EnvRule* veto_ = nullptr;
  const char* reason_ = nullptr;
};

}  // namespace
}  // namespace routing

const routing::ClassPlace& Router::State::place_of(const Problem& problem) const noexcept {
  // Per thread, so without a lock; keyed by the router's id, which no other router ever has.
  thread_local std::array<routing::ClassPlace, routing::kRemembered> remembered;
  thread_local routing::ClassPlace* last = remembered.data();  // mostly it is the same again
  const std::uint64_t small = routing::small_of(problem);
  const auto is_it = [&](const routing::ClassPlace& place) {
    return place.router == id && routing::has_key(problem, small, place.key);
  };
  if (is_it(*last)) return *last;
  last = &remembered[(routing::hash_of(problem, small) ^ id) % routing::kRemembered];
  if (!is_it(*last)) find_place(problem, routing::make_key(problem, small), *last);
  return *last;
}

// Out of line: its registers would be saved and restored at each look-up that finds its place.
[[gnu::noinline]] void Router::State::find_place(const Problem& problem,
                                                 const routing::ClassKey& key,
                                                 routing::ClassPlace& place) const noexcept {
  const ProblemClass wanted = class_of(problem);
  for (std::size_t slot = 0; slot < routing::kTableSlots; ++slot) {
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
      place.fits[slot][stage] = tables[slot].resolve(static_cast<Stage>(stage), wanted, key);
    }
  }
  place.key = key;
  place.router = id;
}

void Router::State::decide(Stage stage, const Problem& problem, const routing::AllPolicies* by,
                           Choice& choice, routing::Why& why) const noexcept {
  const auto i = static_cast<std::size_t>(stage);
  const auto& asked = api[i];
  const routing::ApiWish* wish = by && asked ? &*asked : nullptr;
  routing::Walk(*this, stage, problem, by ? &(*by)[i] : nullptr, choice, why).decide(wish);
  if (!choice.point) choice.point = &routing::kNoPoint;
}

}  // namespace nsa
