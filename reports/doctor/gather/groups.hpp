// Events that belong together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::doctor {

/// Groups by two names, with the ids of the first events.
class Groups {
 public:
  void add(const std::string& name, const std::string& by, std::int64_t ns, std::uint64_t id,
           trace::WaitKind wait = trace::WaitKind::none) {
    constexpr std::size_t kIds = 3;
    Group& group = groups_[{name, by, wait}];
    group.wait = wait;
    ++group.count;
    group.add(ns);
    if (id != 0 && group.ids.size() < kIds) group.ids.push_back(id);
  }
  /// Longest total first.
  std::vector<Group> take() {
    std::vector<Group> out;
    for (auto& [key, group] : groups_) {
      group.name = clean(std::get<0>(key));
      group.by = clean(std::get<1>(key));
      out.push_back(std::move(group));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Group& a, const Group& b) { return a.total_ns > b.total_ns; });
    return out;
  }

 private:
  std::map<std::tuple<std::string, std::string, trace::WaitKind>, Group> groups_;
};

/// Correlation ids are those of one process.
template <class Event>
std::uint64_t key_of(const Event& event) {
  return event.correlation ^ std::uint64_t{event.process} << 40;
}

}  // namespace nsa::doctor
