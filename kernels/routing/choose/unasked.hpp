// A decision where nobody asks for a row, which is the usual one.
#pragma once

#include "routing/choose/find_range.hpp"

namespace nsa::routing {

inline constexpr const char* kCannotBePart =
    "a row over several stages cannot leave one out or save what lies between them";

/// A decision for which neither the API nor the environment asks for anything, so that nothing is
/// ruled out or swapped: what Walk would decide in half as many steps again. Most decisions are
/// such, and for most of them the first row that is tried runs. That much is inlined into choose()
/// and keeps all in registers; what comes after it is called, and makes an object of its own.
class Unasked {
 public:
  /// `why`: null where nobody asks.
  [[gnu::always_inline]] Unasked(const RouterState& state, std::size_t slot, const Problem& problem,
                                 Form form, Choice& choice, Why* why) noexcept
      : state_(state),
        rows_(state.rows[slot]),
        slot_(slot),
        problem_(problem),
        form_(form),
        choice_(choice),
        why_(why) {}

  [[gnu::always_inline]] void decide() noexcept {
    if (state_.has_table) {
      const auto& [first, second] = place_for(state_, problem_).decisions[slot_];
      if (first.decision && from_table(first)) [[likely]]
        return;
      if (second.decision) return decide_by(second, state_, slot_, problem_, form_, choice_, why_);
    }
    from_built_in();
  }

 private:
  /// By the second table, and what comes after it.
  [[gnu::noinline]] static void decide_by(const PlacedDecision& second, const RouterState& state,
                                          std::size_t slot, const Problem& problem, Form form,
                                          Choice& choice, Why* why) noexcept {
    Unasked self(state, slot, problem, form, choice, why);
    if (!self.from_table(second)) self.from_built_in();
  }

  /// From the second row of the built-in order on.
  [[gnu::noinline]] static void take_other(const RouterState& state, std::size_t slot,
                                           const Problem& problem, Form form, Choice& choice,
                                           const char* reason) noexcept {
    Unasked self(state, slot, problem, form, choice, nullptr);
    // That the default's first choice cannot run a problem is no unmet wish.
    choice.fallback_reason = reason;
    for (const int row : self.rows_.built_in) {
      if (row == self.rows_.built_in.front()) continue;
      if (self.take(row)) return;
      choice.fallback_reason = reason;
    }
    choice.point = &kNoPoint;
    if (!self.rows_.built_in.empty())
      self.missed(self.rows_.at(self.rows_.built_in.front()).unsupported);
  }

  [[gnu::always_inline]] void missed(const std::string& reason) noexcept {
    if (!choice_.fallback_reason) choice_.fallback_reason = reason.c_str();
  }

  [[gnu::always_inline]] bool take(const Row& row, const Point& point) noexcept {
    if (!runs(row, problem_, state_.inputs.device)) {
      missed(row.usable ? row.unsupported : row.unusable);
      return false;
    }
    if (form_ == Form::stage_by_stage && !row.one.empty()) {
      if (!choice_.fallback_reason) choice_.fallback_reason = kCannotBePart;
      return false;
    }
    choice_.variant = row.variant;
    choice_.point = &point;
    return true;
  }
  [[gnu::always_inline]] bool take(int index) noexcept {
    return take(rows_.at(index), rows_.at(index).default_point(problem_));
  }

  [[gnu::always_inline]] bool from_table(const PlacedDecision& placed) noexcept {
    const FoundRange found = find_range(placed, problem_);
    const RangeIndex* range = found.range;
    if (!range) return false;
    if (range->candidate && take(*range->candidate, *range->point)) {
      choice_.range = range->range;
      choice_.stale = range->stale;
    } else {
      if (range->skipped) missed(*range->skipped);
      // The second best of the same measurement beats what is known without one.
      if (range->runner_up == kNoRow) return false;
      if (!take(rows_.at(range->runner_up), *range->runner_up_point)) return false;
    }
    choice_.source = placed.source;
    choice_.fit = placed.fit;
    choice_.device_fit = placed.device_fit;
    if (why_) {
      why_->axis = found.decision->axis;
      why_->as_forward = found.as_forward;
    }
    return true;
  }

  [[gnu::always_inline]] void from_built_in() noexcept {
    const char* reason = choice_.fallback_reason;
    if (!rows_.built_in.empty() && take(rows_.built_in.front())) return;
    take_other(state_, slot_, problem_, form_, choice_, reason);
  }

  const RouterState& state_;
  const StageRows& rows_;
  std::size_t slot_;
  const Problem& problem_;
  Form form_;
  Choice& choice_;
  Why* why_;
};

}  // namespace nsa::routing
