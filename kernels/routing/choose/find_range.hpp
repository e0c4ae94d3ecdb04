// What the tables say of a problem. A thread remembers where the last classes stand in them.
#pragma once

#include <array>

#include "routing/router_state.hpp"

namespace nsa::routing {

inline constexpr std::size_t kRemembered = 32;  // classes per thread; a power of two

/// What this thread remembers, so without a lock; keyed by the router's id, which no other router
/// ever has. Of constant initialisers: no look-up asks whether they are made.
inline constinit const ClassPlace kNowhere;
inline constinit thread_local const ClassPlace* last = &kNowhere;  // mostly it is the same again
inline constinit thread_local std::array<ClassPlace, kRemembered> remembered{};

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

inline bool is_measured(const RangeIndex* range) noexcept {
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

}  // namespace nsa::routing
