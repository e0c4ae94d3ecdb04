// A decision where the API or the environment asks for rows.
#pragma once

#include "routing/choose/find_range.hpp"
#include "routing/choose/unasked.hpp"

namespace nsa::routing {

/// The state of one decision on its way down the sources, some of which ask for rows, rule them out
/// or swap them.
class Walk {
 public:
  Walk(const RouterState& state, std::size_t slot, const Problem& problem,
       const AllPolicies& policies, Form form, Choice& choice, Why& why) noexcept
      : state_(state),
        rows_(state.rows[slot]),
        slot_(slot),
        problem_(problem),
        policies_(policies),
        policy_(policies[slot]),
        form_(form),
        choice_(choice),
        why_(why) {}

  void decide(const ApiWish* wish) noexcept {
    const bool done =
        (wish && from_api(*wish)) || from_environment() || from_tables() || from_built_in();
    if (!done) choice_.fallback_reason = reason_;
  }

 private:
  const Row& row_at(int row) const noexcept { return rows_.at(row); }

  void missed(const char* reason) noexcept {
    if (!reason_) reason_ = reason;
  }

  bool runs_here(int row) noexcept {
    const Row& candidate = row_at(row);
    if (runs(candidate, problem_, state_.inputs.device)) return true;
    missed((candidate.usable ? candidate.unsupported : candidate.unusable).c_str());
    return false;
  }

  /// Whether a row that computes several stages at once may stand for them here.
  bool may_join(const Row& row) noexcept {
    if (row.one.empty()) return true;
    if (form_ == Form::stage_by_stage) {
      missed(kCannotBePart);
      return false;
    }
    if (!state_.asked(row.one, problem_, policies_)) return true;
    missed("another row is asked for one of its stages");
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
    for (const EnvRule& rule : policy_.picks) {
      if (!rule.holds(problem_)) continue;
      if (rule.target == kNoRow) {
        missed(rule.missing.c_str());
      } else if (runs_here(rule.target)) {
        // Another form of what was asked for is no fallback.
        if (failed && failed->wish == rule.wish) reason_ = nullptr;
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
    for (const EnvRule& rule : policy_.vetoes) {
      if ((rule.rows & bit(row)) && rule.holds(problem_)) return &rule;
    }
    return nullptr;
  }

  /// The row that stands in for `row` by the swaps, or `row` itself.
  [[gnu::always_inline]] int swapped(int row) noexcept {
    return policy_.swaps.empty() ? row : swapped_by_rules(row);
  }
  int swapped_by_rules(int row) noexcept {
    for (const EnvRule& rule : policy_.swaps) {
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
    if (!runs_here(row) || !may_join(row_at(row))) return false;
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

  bool from_tables() noexcept {
    if (!state_.has_table) return false;
    for (const PlacedDecision& placed : place_for(state_, problem_).decisions[slot_]) {
      if (placed.decision && from_table(placed)) return true;
    }
    return false;
  }

  bool from_table(const PlacedDecision& placed) noexcept {
    const FoundRange found = find_range(placed, problem_);
    if (!found.range) return false;
    const bool taken = propose_range(*found.range, placed.source);
    // What the environment made of it has no evidence of its own.
    if (!taken || choice_.source != placed.source) return taken;
    why_.axis = found.decision->axis;
    why_.as_forward = found.as_forward;
    choice_.fit = placed.fit;
    choice_.device_fit = placed.device_fit;
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

  const RouterState& state_;
  const StageRows& rows_;
  std::size_t slot_;
  const Problem& problem_;
  const AllPolicies& policies_;
  const StagePolicy& policy_;
  Form form_;
  Choice& choice_;
  Why& why_;
  const EnvRule* veto_ = nullptr;
  const char* reason_ = nullptr;
};

}  // namespace nsa::routing
