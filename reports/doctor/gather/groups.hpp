// Events that belong together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::doctor {

/// Groups by two names, with the ids of the first events.
class Groups {
 public:
  /// `caller`: the function of the program; empty = not known.
  void add(const std::string& name, const std::string& by, std::int64_t ns, std::uint64_t id,
           trace::WaitKind wait = trace::WaitKind::none, std::string_view caller = {}) {
    constexpr std::size_t kIds = 3;
    auto& [group, callers] = groups_[{name, by, wait}];
    if (!caller.empty()) callers.try_emplace(std::string(caller)).first->second.add(ns);
    group.wait = wait;
    ++group.count;
    group.add(ns);
    if (id != 0 && group.ids.size() < kIds) group.ids.push_back(id);
  }
  /// Longest total first.
  std::vector<Group> take() {
    std::vector<Group> out;
    for (auto& [key, collected] : groups_) {
      auto& [group, callers] = collected;
      const auto longest = std::max_element(
          callers.begin(), callers.end(),
          [](const auto& a, const auto& b) { return a.second.total_ns < b.second.total_ns; });
      if (longest != callers.end()) group.caller = clean(longest->first);
      group.callers = callers.size();
      group.name = clean(std::get<0>(key));
      group.by = clean(std::get<1>(key));
      out.push_back(std::move(group));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Group& a, const Group& b) { return a.total_ns > b.total_ns; });
    return out;
  }

 private:
  struct Collected {
    Group group;
    std::map<std::string, Group, std::less<>> callers;  // by their names, for their times
  };
  std::map<std::tuple<std::string, std::string, trace::WaitKind>, Collected> groups_;
};

/// Correlation ids are those of one process.
template <class Event>
std::uint64_t key_of(const Event& event) {
  return event.correlation ^ std::uint64_t{event.process} << 40;
}

}  // namespace nsa::doctor
