#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ranges.hpp"

namespace nsa::trace {

/// Which step holds a moment of a process.
class StepIndex {
 public:
  explicit StepIndex(const std::vector<StepRange>& steps) : steps_(steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) by_process_[steps[i].process].push_back(i);
  }

  std::optional<std::size_t> at(std::uint32_t process, std::int64_t ns) const {
    const auto of = by_process_.find(process);
    if (of == by_process_.end()) return {};
    const auto next =
        std::upper_bound(of->second.begin(), of->second.end(), ns,
                         [&](std::int64_t t, std::size_t i) { return t < steps_[i].start_ns; });
    if (next == of->second.begin() || ns >= steps_[*std::prev(next)].end_ns) return {};
    return *std::prev(next);
  }

 private:
  const std::vector<StepRange>& steps_;
  std::map<std::uint32_t, std::vector<std::size_t>> by_process_;
};

}  // namespace nsa::trace
