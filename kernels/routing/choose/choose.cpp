// One decision: API, environment, thresholds file, shipped table, built-in default, in this order.
// No lock and no allocation: a thread remembers where the last classes stand in the tables, and
// reasons are texts that were made beforehand.
#include <algorithm>

#include "routing/choose/walk.hpp"

namespace nsa {
namespace routing {
namespace {

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
