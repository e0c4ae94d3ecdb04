// Which of several rows a span goes to, so that the spans of a row are disjoint or nested.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace nsa::trace {

/// Spans come in order of their starts, longer ones first.
class Lanes {
 public:
  /// 0 where the span fits beside and into what is there, else a further lane; new ones are
  /// numbered in order.
  std::uint32_t lane_of(std::int64_t start_ns, std::int64_t end_ns) {
    while (!open_.empty() && open_.back() <= start_ns) open_.pop_back();
    if (open_.empty() || end_ns <= open_.back()) {
      open_.push_back(end_ns);
      return 0;
    }
    const auto free = further_.begin();  // the one that ended first
    std::uint32_t lane = count_ + 1;
    if (free != further_.end() && free->first <= start_ns) {
      lane = free->second;
      further_.erase(free);
    } else {
      ++count_;
    }
    further_.insert({end_ns, lane});
    return lane;
  }

 private:
  std::vector<std::int64_t> open_;                            // ends on lane 0, nested
  std::set<std::pair<std::int64_t, std::uint32_t>> further_;  // end and number of each lane
  std::uint32_t count_ = 0;
};

}  // namespace nsa::trace
