// Numbered steps of a trace, and those at the start that say nothing of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// The first steps of a process that each take half as long again as the median of all: at most a
/// third of at least six.
struct WarmUp {
  std::size_t steps = 0;  // how many
  std::int64_t median_ns = 0, later_median_ns = 0;
  std::pair<std::int64_t, std::int64_t> later;  // numbers of the others, for Filter::steps
};

/// Two steps or more that are numbered in order, of one process.
struct NumberedSteps {
  std::size_t count = 0;
  std::pair<std::int64_t, std::int64_t> numbers;  // of the first and the last, for Filter::steps
  std::int64_t start_ns = 0, end_ns = 0;          // of all of them, by the host
  bool marked = false;                            // by the program itself
  std::optional<WarmUp> warm_up;
};
/// Nothing where there are fewer, or in several processes.
std::optional<NumberedSteps> numbered_steps_of(const Trace& trace);

}  // namespace nsa::trace
