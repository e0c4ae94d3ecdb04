// Steps at the start of a trace that say nothing of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

struct WarmUp {
  std::size_t steps = 0, all = 0;  // how many of how many
  std::int64_t median_ns = 0, later_median_ns = 0;
  std::pair<std::int64_t, std::int64_t> later;  // numbers of the others, for Filter::steps
};

/// The first steps of a process that each take half as long again as the median of all: at most a
/// third of at least six that the program marked. Nothing where there are none, and for several
/// processes.
std::optional<WarmUp> warm_up_of(const Trace& trace);

/// Two steps or more that the program marks and numbers itself, in one process.
struct MarkedSteps {
  std::size_t count = 0;
  std::pair<std::int64_t, std::int64_t> numbers;  // of the first and the last
  std::int64_t start_ns = 0, end_ns = 0;          // of all of them, by the host
};
/// Nothing where there are fewer, in several processes, or none that the program marks.
std::optional<MarkedSteps> marked_steps_of(const Trace& trace);

}  // namespace nsa::trace
