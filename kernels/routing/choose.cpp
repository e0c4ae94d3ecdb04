// One decision: API, environment, thresholds file, shipped table, built-in default, in this order.
// No lock and no allocation: a thread remembers where the last classes stand in the tables, and
// reasons are texts that were made beforehand.
#include <algorithm>

#include "router_state.hpp"

namespace nsa {
namespace routing {
namespace {

constexpr std::size_t kRemembered = 32;  // classes per thread; a power of two

/// What this thread remembers, so without a lock; keyed by the router's id, which no other router
/// ever has. Of constant initialisers: no look-up asks whether they are made.
constinit const ClassPlace kNowhere;
constinit thread_local const ClassPlace* last = &kNowhere;  // mostly it is the same again
constinit thread_local std::array<ClassPlace, kRemembered> remembered{};

[[gnu::always_inline]] inline bool is_it(const ClassPlace& place, std::uint64_t router,
                                         const Problem& problem, std::uint64_t small) noexcept {
  return place.router == router && has_key(problem, small, place.key);
}

/// Where the class of the problem stands in the tables; this thread's.
[[gnu::always_inline]] inline const ClassPlace& place_for(const RouterState& state,
                                                          const Problem& problem) noexcept {
  const std::uint64_t small = small_of(problem);
  const ClassPlace& again = *last;
  if (is_it(again, state.id, problem, small)) [[likely]]
    return again;
  return state.place_of(problem, small);
}

bool is_measured(const RangeIndex* range) noexcept {
  return range && range->range && range->range->basis == Basis::measured;
}

/// What a table says of a problem: null where it says nothing.
struct FoundRange {
  const RangeIndex* range = nullptr;
  const DecisionIndex* decision = nullptr;
  bool as_forward = false;
};
[[gnu::always_inline]] inline FoundRange find_range(const PlacedDecision& placed,
                                                    const Problem& problem) noexcept {
  const auto in = [&](const DecisionIndex& decision) {
    return decision.find(length_of(problem, decision.axis));
  };
  const RangeIndex* range = in(*placed.decision);
  if (placed.forward && !is_measured(range)) [[unlikely]] {
    if (const RangeIndex* forward = in(*placed.forward); is_measured(forward))
      return {forward, placed.forward, true};
  }
  return {range, placed.decision, placed.as_forward};
}

constexpr const char* kCannotBePart =
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

PlacedDecision placed(const TableIndex& table, std::size_t slot, const ClassFit& fit) noexcept {
  if (fit.index < 0) return {};
  return {&table.classes[static_cast<std::size_t>(fit.index)].decisions[slot], fit.fit};
}

/// Of launches that save, the class of those that do not where the table has no other, or none that
/// fits the problem as well; and beside a class that saves, for what was not measured with it.
PlacedDecision place_in(const TableIndex& table, std::size_t slot, ProblemClass wanted,
                        const ClassKey& key) noexcept {
  const ClassFit own = table.resolve(slot, wanted, key);
  if (wanted.direction != kForwardSaving) return placed(table, slot, own);
  wanted.direction = Direction::forward;
  const ClassFit forward = table.resolve(slot, wanted, key_of(wanted));
  if (own.index >= 0 && (forward.index < 0 || own.fit <= forward.fit)) {
    PlacedDecision decision = placed(table, slot, own);
    if (own.fit == forward.fit) decision.forward = placed(table, slot, forward).decision;
    return decision;
  }
  PlacedDecision decision = placed(table, slot, forward);
  decision.as_forward = true;
  return decision;
}

bool from_outside(Source source) noexcept {
  return source == Source::api || source == Source::environment;
}

}  // namespace
}  // namespace routing

// Out of line, as is find_place: its registers would be saved and restored at each look-up that
// finds the place of the one before.
[[gnu::noinline]] const routing::ClassPlace& Router::State::place_of(
    const Problem& problem, std::uint64_t small) const noexcept {
  const std::uint64_t hash = routing::hash_of(problem, small) ^ id;
  routing::ClassPlace& place = routing::remembered[hash % routing::kRemembered];
  if (!routing::is_it(place, id, problem, small))
    find_place(problem, routing::make_key(problem, small), place);
  routing::last = &place;
  return place;
}

[[gnu::noinline]] void Router::State::find_place(const Problem& problem,
                                                 const routing::ClassKey& key,
                                                 routing::ClassPlace& place) const noexcept {
  const ProblemClass wanted = class_of(problem);
  const bool forward = !has_gradients(problem.direction);  // no other place is looked up
  const std::size_t begin = forward ? 0 : routing::kForwardSlots;
  const std::size_t end = forward ? routing::kForwardSlots : routing::kSlots;
  for (std::size_t slot = begin; slot < end; ++slot) {
    auto next = place.decisions[slot].begin();
    for (const routing::TableSlot t : {routing::kThresholdsSlot, routing::kShippedSlot}) {
      *next = routing::place_in(tables[t], slot, wanted, key);
      next->source = t == routing::kThresholdsSlot ? Source::thresholds : Source::shipped;
      next->device_fit = tables[t].device_fit;
      if (next->decision) ++next;
    }
    for (; next != place.decisions[slot].end(); ++next) *next = {};
  }
  place.key = key;
  place.router = id;
}

void Router::State::decide(std::size_t slot, const Problem& problem, const routing::AllPolicies* by,
                           Form form, Choice& choice, routing::Why& why) const noexcept {
  if (by && !(quiet && by == &policies))
    return decide_as_asked(slot, problem, *by, form, choice, why);
  routing::Unasked(*this, slot, problem, form, choice, &why).decide();
}

// Out of line: what Unasked needs on the stack would be made room for here, too.
[[gnu::noinline]] void Router::State::decide_as_asked(std::size_t slot, const Problem& problem,
                                                      const routing::AllPolicies& by, Form form,
                                                      Choice& choice,
                                                      routing::Why& why) const noexcept {
  const routing::ApiWish* wish = api[slot] ? &*api[slot] : nullptr;
  routing::Walk(*this, slot, problem, by, form, choice, why).decide(wish);
  if (!choice.point) choice.point = &routing::kNoPoint;
}

bool Router::State::asked(std::span<const Stage> stages, const Problem& problem,
                          const routing::AllPolicies& by) const noexcept {
  if (quiet && &by == &policies) return false;
  return std::ranges::any_of(stages, [&](Stage stage) {
    const std::size_t slot = routing::slot_of(stage, problem.direction);
    if (!api[slot] && by[slot].empty()) return false;
    return routing::from_outside(decide(slot, problem, &by).choice.source);
  });
}

[[gnu::noinline]] Choice Router::State::choose_as_asked(std::size_t slot, const Problem& problem,
                                                        Form form) const noexcept {
  Choice choice;
  routing::Why unread;
  decide_as_asked(slot, problem, policies, form, choice, unread);
  return choice;
}

[[gnu::always_inline]] inline Choice Router::State::choose_unasked(std::size_t slot,
                                                                   const Problem& problem,
                                                                   Form form) const noexcept {
  Choice choice;
  routing::Unasked(*this, slot, problem, form, choice, nullptr).decide();
  return choice;
}

[[gnu::always_inline]] inline Choice Router::State::choose(std::size_t slot, const Problem& problem,
                                                           Form form) const noexcept {
  return quiet ? choose_unasked(slot, problem, form) : choose_as_asked(slot, problem, form);
}

Choice Router::choose(Stage stage, const Problem& problem) const noexcept {
  return state_->choose(routing::slot_of(stage, problem.direction), problem, Form::any);
}

Choice Router::choose(Stage stage, const Problem& problem, const Choice* within,
                      Form form) const noexcept {
  Choice choice = state_->choose(routing::slot_of(stage, problem.direction), problem, form);
  if (within && within->variant) {
    routing::Why unread;
    state_->bind_part(*within, stage, problem, choice, unread);
  }
  return choice;
}

void Router::State::bind_part(const Choice& within, Stage stage, const Problem& problem,
                              Choice& choice, routing::Why& why) const noexcept {
  const Variant* named = within.variant->plan.part(stage);
  if (!named) return;
  const bool stronger =
      choice.source < within.source || (choice.source == within.source && choice.fit < within.fit);
  if (stronger && choice.variant) return;
  const routing::StageRows& of_stage = rows[routing::slot_of(stage, problem.direction)];
  int row = of_stage.find(named);
  // Of both passes, backward the row that is called as the forward one is.
  if (row == routing::kNoRow) row = of_stage.find(named->name);
  if (row == routing::kNoRow || of_stage.at(row).variant == choice.variant) return;
  if (!routing::runs(of_stage.at(row), problem, inputs.device)) return;
  choice.variant = of_stage.at(row).variant;
  choice.point = &of_stage.at(row).default_point(problem);
  choice.range = within.range;
  choice.source = within.source;
  choice.fit = within.fit;
  choice.device_fit = within.device_fit;
  choice.stale = within.stale;
  why.within = within.variant;
}

void Router::State::segment(std::span<const Stage> stages, const Problem& problem,
                            const routing::AllPolicies* by, const Choice* within,
                            Segmentation& segmentation, routing::Why* whys) const noexcept {
  routing::Why unread;
  const auto why_of = [&](std::size_t row) -> routing::Why& { return whys ? whys[row] : unread; };
  const std::size_t slot = routing::slot_of(rows, stages, problem.direction);
  if (routing::is_span(slot)) {
    Choice& whole = segmentation.add();
    decide(slot, problem, by, Form::any, whole, why_of(0));
    if (whole.variant && whole.variant->plan.mode != CompositePlan::Mode::in_turn) return;
    if (whole.variant) {
      for (std::size_t i = 1; whys && i < stages.size(); ++i) whys[i] = whys[0];
      return in_turn(rows[slot], problem, segmentation);
    }
    segmentation.clear();
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Choice& choice = segmentation.add();
    decide(routing::slot_of(stages[i], problem.direction), problem, by, Form::any, choice,
           why_of(i));
    if (within && within->variant) bind_part(*within, stages[i], problem, choice, why_of(i));
  }
}

void Router::State::in_turn(const routing::StageRows& span, const Problem& problem,
                            Segmentation& segmentation) const noexcept {
  const Choice sequence = segmentation.choices().front();
  const routing::Row& row = span.at(span.find(sequence.variant));
  segmentation.clear();
  for (std::size_t i = 0; i < row.in_turn.size(); ++i) {
    const routing::Row& part = rows[static_cast<std::size_t>(span.stages[i])].at(row.in_turn[i]);
    Choice& choice = segmentation.add();
    choice = sequence;
    choice.variant = part.variant;
    choice.point = &part.default_point(problem);
  }
}

}  // namespace nsa
