// Where the class of a problem stands in the tables, looked up once for each class and thread.
#include "routing/router_state.hpp"

namespace nsa {
namespace routing {
namespace {

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

}  // namespace
}  // namespace routing

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

}  // namespace nsa
