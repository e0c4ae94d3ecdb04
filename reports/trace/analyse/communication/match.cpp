#include "match.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "patterns.hpp"

namespace nsa::trace {
namespace {

using Numbers = std::vector<std::uint32_t>;  // of calls, in order of start
using ByDevice = std::map<DeviceKey, Numbers>;
using Rows = std::vector<Numbers>;

constexpr std::size_t kMostApartPercent = 10;  // of collectives that should run at one time
constexpr std::int64_t kClockErrorNs = 100'000;

class Group {
 public:
  Group(const CommCalls& calls, const ByDevice& devices, bool one_time_line)
      : calls_(calls), devices_(devices), one_time_line_(one_time_line) {}

  /// Nothing where the operations cannot be told apart.
  Rows match() const {
    for (const auto& way : {&Group::by_sequence, &Group::by_place, &Group::by_time}) {
      Rows found = (this->*way)();
      if (!found.empty() && runs_together(found)) return found;
    }
    return {};
  }

 private:
  const CommCall& call(std::uint32_t i) const { return calls_.calls[i]; }
  const Message& message(std::uint32_t i) const { return calls_.kinds[call(i).kind].message; }

  Rows by_sequence() const {
    std::map<std::int64_t, Numbers> found;
    for (const auto& [device, numbers] : devices_) {
      std::set<std::int64_t> seen;
      for (const std::uint32_t i : numbers) {
        const auto sequence = message(i).sequence;
        if (!sequence || !seen.insert(*sequence).second) return {};
        found[*sequence].push_back(i);
      }
    }
    return whole(std::move(found));
  }

  Rows by_place() const {
    const std::size_t count = devices_.begin()->second.size();
    Rows out(count);
    for (const auto& [device, numbers] : devices_) {
      if (numbers.size() != count) return {};
      for (std::size_t i = 0; i < count; ++i) out[i].push_back(numbers[i]);
    }
    return out;
  }

  /// For each of the device with fewest that one of each other device that ends nearest to it.
  Rows by_time() const {
    if (!one_time_line_) return {};
    const auto fewest = std::min_element(
        devices_.begin(), devices_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    Rows out;
    std::map<DeviceKey, std::uint32_t> last;  // no call belongs to two
    for (const std::uint32_t i : fewest->second) {
      Numbers row{i};
      for (const auto& [device, numbers] : devices_)
        if (device != fewest->first) {
          const std::uint32_t near = nearest_end(numbers, call(i).end_ns);
          const auto at = last.find(device);
          if (overlap(call(i), call(near)) && (at == last.end() || at->second < near))
            row.push_back(near);
        }
      if (row.size() != devices_.size()) continue;
      for (const std::uint32_t n : row) last[call(n).device] = n;
      out.push_back(std::move(row));
    }
    return out;
  }

  std::uint32_t nearest_end(const Numbers& numbers, std::int64_t end_ns) const {
    const auto behind = std::partition_point(
        numbers.begin(), numbers.end(), [&](std::uint32_t i) { return call(i).end_ns < end_ns; });
    if (behind == numbers.begin()) return *behind;
    if (behind == numbers.end()) return numbers.back();
    const std::uint32_t before = *std::prev(behind);
    return end_ns - call(before).end_ns < call(*behind).end_ns - end_ns ? before : *behind;
  }

  static bool overlap(const CommCall& a, const CommCall& b) {
    return std::max(a.start_ns, b.start_ns) <= std::min(a.end_ns, b.end_ns) + kClockErrorNs;
  }

  Rows whole(std::map<std::int64_t, Numbers> found) const {
    Rows out;
    for (auto& [sequence, row] : found)
      if (row.size() == devices_.size()) out.push_back(std::move(row));
    return out;
  }

  bool runs_together(const Rows& rows) const {
    const std::string& collective = calls_.kinds[call(rows.front().front()).kind].collective;
    if (!one_time_line_ || !waits_for_all(collective)) return true;
    std::size_t apart = 0;
    for (const Numbers& row : rows) {
      std::int64_t last_start = -kMaxTimeNs, first_end = kMaxTimeNs;
      for (const std::uint32_t i : row) {
        last_start = std::max(last_start, call(i).start_ns);
        first_end = std::min(first_end, call(i).end_ns);
      }
      apart += last_start > first_end + kClockErrorNs;
    }
    return apart * 100 <= rows.size() * kMostApartPercent;
  }

  const CommCalls& calls_;
  const ByDevice& devices_;
  bool one_time_line_;
};

/// What goes from one rank to another has no counterpart of its kind there.
bool is_between_two(const std::string& collective) {
  return collective == "send" || collective == "recv" || collective == "send_recv" ||
         collective == "other";
}

}  // namespace

Matched match(const CommCalls& calls, bool one_time_line) {
  std::map<std::tuple<std::string, std::string, std::string>, ByDevice> groups;
  Matched out;
  for (std::uint32_t i = 0; i < calls.calls.size(); ++i) {
    const CommKind& kind = calls.kinds[calls.calls[i].kind];
    if (is_between_two(kind.collective)) {
      out.collectives.push_back({i});
    } else {
      groups[{kind.transport, kind.message.group, kind.collective}][calls.calls[i].device]
          .push_back(i);
    }
  }
  for (const auto& [key, devices] : groups) {
    Rows found;
    if (devices.size() > 1) found = Group(calls, devices, one_time_line).match();
    std::set<std::uint32_t> taken;
    for (Numbers& row : found) {
      taken.insert(row.begin(), row.end());
      out.collectives.push_back(std::move(row));
    }
    for (const auto& [device, numbers] : devices)
      for (const std::uint32_t i : numbers)
        if (!taken.contains(i)) {
          out.collectives.push_back({i});
          out.unmatched += devices.size() > 1;
        }
  }
  return out;
}

}  // namespace nsa::trace
