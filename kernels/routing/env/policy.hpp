// What the NSA_* variables say about one stage, worked out once: rules over lengths and rows.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "nsa/schemas/env_names.hpp"
#include "routing/lengths.hpp"
#include "routing/stage_rows.hpp"

namespace nsa::routing {

inline constexpr unsigned kAllPhases = 7;
inline constexpr unsigned kPrefillPhases = 3;  // prefill and chunked_prefill

/// Holds while from <= length < to, in these phases.
struct EnvRule {
  Length length = Length::seq_len;
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  unsigned phases = kAllPhases;
  RowSet rows = 0;       // what a veto rules out, or a swap replaces
  int target = kNoRow;   // what a pick or a swap takes
  std::string cause;     // "NSA_FORCE_SEL_MASK=1"
  std::size_t wish = 0;  // of a pick: the place of the first one of the same cause
  std::string missing;   // why the target cannot be taken, where it is kNoRow

  bool holds(const Problem& p) const noexcept {
    if (!(phases & 1u << static_cast<unsigned>(p.phase))) return false;
    const bool any = from == std::numeric_limits<std::int64_t>::min() &&
                     to == std::numeric_limits<std::int64_t>::max();
    if (any) return true;
    const std::int64_t value = length_of(p, length);
    return from <= value && value < to;
  }
};

/// `picks` in order: the first that holds and runs decides. `vetoes` remove rows from what weaker
/// sources choose. `swaps`, in order, replace a row wherever a pick or a weaker source chose it.
struct StagePolicy {
  std::vector<EnvRule> picks, vetoes, swaps;
  bool empty() const noexcept { return picks.empty() && vetoes.empty() && swaps.empty(); }
};

StagePolicy make_policy(const StageRows& rows, const EnvSnapshot& environment);

}  // namespace nsa::routing
