#include "nsa/trace/warm_up.hpp"

#include <algorithm>
#include <vector>

#include "analyse/sums.hpp"
#include "ranges.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kFewestMarkedSteps = 6;

/// Of steps that are numbered in order, of one process; else none.
std::vector<std::int64_t> numbers_of(const std::vector<StepRange>& steps) {
  std::vector<std::int64_t> out;
  for (const StepRange& step : steps) {
    const auto number = step_number(step.name);
    const bool in_order = number && (out.empty() || *number > out.back());
    if (!in_order || step.process != steps.front().process) return {};
    out.push_back(*number);
  }
  return out;
}

std::int64_t median_of(std::vector<std::int64_t> values) { return nearest_rank(values, 50); }

/// `numbers` of the steps.
std::optional<WarmUp> warm_up_of(const std::vector<StepRange>& steps,
                                 const std::vector<std::int64_t>& numbers) {
  if (steps.size() < kFewestMarkedSteps) return {};
  std::vector<std::int64_t> times;
  for (const StepRange& step : steps) times.push_back(step.end_ns - step.start_ns);
  const std::int64_t median = median_of(times);
  std::size_t slow = 0;
  while (slow < times.size() && 2 * times[slow] > 3 * median) ++slow;
  if (slow == 0 || 3 * slow > steps.size()) return {};
  const auto begin = times.begin() + static_cast<std::ptrdiff_t>(slow);
  return WarmUp{.steps = slow,
                .median_ns = median_of({times.begin(), begin}),
                .later_median_ns = median_of({begin, times.end()}),
                .later = {numbers[slow], numbers.back()}};
}

}  // namespace

std::optional<NumberedSteps> numbered_steps_of(const Trace& trace) {
  const std::vector<StepRange> steps = marked_steps(trace);
  if (steps.size() < 2) return {};
  const std::vector<std::int64_t> numbers = numbers_of(steps);
  if (numbers.empty()) return {};
  return NumberedSteps{.count = steps.size(),
                       .numbers = {numbers.front(), numbers.back()},
                       .start_ns = steps.front().start_ns,
                       .end_ns = steps.back().end_ns,
                       .marked = steps.front().source != "detected",
                       .warm_up = warm_up_of(steps, numbers)};
}

}  // namespace nsa::trace
