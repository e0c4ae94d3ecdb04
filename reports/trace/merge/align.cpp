#include "align.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "analyse/steps/ranges.hpp"
#include "analyse/sums.hpp"
#include "fields.hpp"
#include "hosts.hpp"
#include "moments.hpp"

namespace nsa::trace {
namespace {

constexpr std::array<std::string_view, 5> kAlignments{"one_clock", "collectives", "steps",
                                                      "absolute_times", "none"};

using Shifts = std::vector<std::int64_t>;

/// Clocks of hosts drift apart by some 10 us a second; the same collective ends everywhere within
/// microseconds, and another one milliseconds away.
constexpr std::int64_t kMostCollectiveSpreadNs = 1'000'000;
constexpr std::int64_t kStepShare = 10;  // steps may begin a tenth of a step apart

std::int64_t checked(__int128 ns) {
  if (ns > INT64_MAX || ns < INT64_MIN)
    throw InputError("the times of the traces are too far apart");
  return static_cast<std::int64_t>(ns);
}

std::int64_t shortest_step_ns(const std::vector<Trace>& traces) {
  std::int64_t shortest = kMaxDurationNs;
  for (const Trace& trace : traces)
    for (const StepRange& step : marked_steps(trace))
      shortest = std::min(shortest, step.end_ns - step.start_ns);
  return shortest;
}

constexpr std::size_t kNowhere = SIZE_MAX;

struct Alignment {
  Shifts shift_ns;
  /// [hosts] the host to whose clock it was brought, over common moments; itself for one that has
  /// none with those before it.
  std::vector<std::size_t> root;
  std::int64_t spread_ns = 0;  // that is left

  bool whole() const {
    return std::all_of(root.begin(), root.end(), [](std::size_t host) { return host == 0; });
  }
  __int128 at(const Member& member) const {
    return __int128{member.at_ns} + shift_ns[member.trace];
  }
};

/// What brings the moments of a host to those of hosts that stand on the root's clock, in the
/// middle; nothing where it has none in common with them.
std::optional<std::int64_t> offset_of(std::size_t host, std::size_t root,
                                      const std::vector<Row>& rows, const Hosts& hosts,
                                      const Alignment& so_far) {
  std::vector<std::int64_t> apart;
  for (const Row& row : rows) {
    const auto own = std::find_if(row.begin(), row.end(),
                                  [&](const Member& m) { return hosts.of(m.trace) == host; });
    const auto standing = std::find_if(row.begin(), row.end(), [&](const Member& m) {
      return so_far.root[hosts.of(m.trace)] == root;
    });
    if (own != row.end() && standing != row.end())
      apart.push_back(checked(so_far.at(*standing) - so_far.at(*own)));
  }
  if (apart.empty()) return {};
  return nearest_rank(apart, 50);
}

/// Brings hosts to the root's clock that have moments in common with those on it. Whether there
/// were any, so that more may follow.
bool bring_to(std::size_t root, const std::vector<Row>& rows, const Hosts& hosts, Alignment& out) {
  bool any = false;
  for (std::size_t host = root + 1; host < hosts.count(); ++host) {
    if (out.root[host] != kNowhere) continue;
    const auto offset = offset_of(host, root, rows, hosts, out);
    if (!offset) continue;
    for (std::size_t i = 0; i < out.shift_ns.size(); ++i)
      if (hosts.of(i) == host) out.shift_ns[i] = checked(__int128{out.shift_ns[i]} + *offset);
    out.root[host] = root;
    any = true;
  }
  return any;
}

std::int64_t spread_of(const std::vector<Row>& rows, const Alignment& alignment) {
  std::vector<std::int64_t> spreads;
  for (const Row& row : rows) {
    __int128 least = alignment.at(row.front()), most = least;
    for (const Member& member : row) {
      least = std::min(least, alignment.at(member));
      most = std::max(most, alignment.at(member));
    }
    spreads.push_back(checked(most - least));
  }
  return spreads.empty() ? 0 : nearest_rank(spreads, 90);
}

/// From host to host, as far as common moments lead.
Alignment bring_together(const std::vector<Row>& rows, const Hosts& hosts) {
  Alignment out{hosts.shifts(), std::vector<std::size_t>(hosts.count(), kNowhere)};
  for (std::size_t root = 0; root < hosts.count(); ++root) {
    if (out.root[root] != kNowhere) continue;
    out.root[root] = root;
    while (bring_to(root, rows, hosts, out)) {
    }
  }
  out.spread_ns = spread_of(rows, out);
  return out;
}

/// By moments of one kind; nothing where they lie too far apart or are not there.
std::optional<Alignment> align_by(const std::vector<Row>& rows, const Hosts& hosts,
                                  std::int64_t most_spread_ns) {
  if (rows.empty()) return {};
  Alignment out = bring_together(rows, hosts);
  if (out.spread_ns > most_spread_ns) return {};
  return out;
}

std::vector<Moments> moments_of(const std::vector<Trace>& traces, Moments (*find)(const Trace&)) {
  std::vector<Moments> out;
  for (const Trace& trace : traces) out.push_back(find(trace));
  return out;
}

bool are_numbered(const std::vector<Moments>& traces) {
  return std::ranges::all_of(traces, [](const Moments& of) {
    return std::ranges::all_of(of, [](const auto& moment) { return moment.first.sequence >= 0; });
  });
}

/// How many traces share no process group with the first one, neither directly nor through others:
/// they may do other work at any moment (a stage of a pipeline), even where their steps are called
/// alike. 0 where a trace does not say whose all of its collectives are.
std::size_t without_group_of_first(const std::vector<Moments>& ends, const Hosts& hosts) {
  const auto groups = groups_of(ends);
  const auto has_none = [](const Moments& of) { return of.empty(); };
  if (groups.contains("") || std::any_of(ends.begin(), ends.end(), has_none)) return 0;
  std::vector<Row> together;
  for (const auto& [group, traces] : groups) {
    Row& row = together.emplace_back();
    for (const std::size_t trace : traces) row.push_back({trace, 0});
  }
  const Alignment reached = bring_together(together, hosts);
  std::size_t count = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) count += reached.root[hosts.of(i)] != 0;
  return count;
}

}  // namespace

std::string_view to_string(ClockAlignment alignment) {
  return kAlignments[static_cast<std::size_t>(alignment)];
}

Placement align(const std::vector<Trace>& traces) {
  const Hosts hosts(traces);
  Placement out;
  out.shift_ns = hosts.shifts();
  const auto say = [&](ClockAlignment alignment, const std::string& assumption) {
    out.clocks.alignment = alignment;
    out.clocks.assumption = assumption;
    return out;
  };
  const auto say_of = [&](const Alignment& by, ClockAlignment alignment,
                          const std::string& assumption) {
    out.shift_ns = by.shift_ns;
    out.clocks.spread_ns = by.spread_ns;
    return say(alignment, assumption + " (" + hosts.names() + ")");
  };
  if (hosts.count() == 1)
    return say(ClockAlignment::one_clock,
               "all were recorded on " + hosts.names() + ", whose processes share a clock");
  const std::vector<Moments> ends = moments_of(traces, collective_ends);
  const auto by_ends = align_by(same_collectives(ends), hosts, kMostCollectiveSpreadNs);
  if (by_ends && by_ends->whole())
    return say_of(*by_ends, ClockAlignment::collectives,
                  are_numbered(ends)
                      ? "collectives of one number (Seq) in a process group are the same "
                        "operation on all of its ranks, which ends everywhere at once"
                      : "the n-th collective of a name in a process group is the same operation "
                        "on all of its ranks, and ends everywhere at once");
  const std::size_t strangers = without_group_of_first(ends, hosts);
  if (strangers == 0) {
    const auto by_steps = align_by(same_steps(moments_of(traces, step_starts)), hosts,
                                   shortest_step_ns(traces) / kStepShare);
    if (by_steps)
      return say_of(*by_steps, ClockAlignment::steps, "a step of a name begins everywhere at once");
  }
  const std::string apart =
      strangers == 0
          ? hosts.names() +
                " have clocks of their own, and neither common collectives nor common steps tell "
                "how far these are apart"
          : std::to_string(strangers) + " of " + std::to_string(traces.size()) +
                " recordings share no process group with the first one, neither directly nor "
                "through others, so nothing tells how far their clocks are apart (" +
                hosts.names() + ")";
  Shifts absolute = hosts.shifts();
  if (!hosts.absolute_shifts(absolute)) return say(ClockAlignment::none, apart);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    out.shift_ns[i] = absolute[i];
    if (!by_ends) continue;
    const std::size_t root = by_ends->root[hosts.of(i)];
    out.shift_ns[i] = checked(__int128{by_ends->shift_ns[i]} + absolute[hosts.first_of(root)]);
  }
  return say(ClockAlignment::absolute_times, apart);
}

}  // namespace nsa::trace

template <>
std::optional<nsa::trace::ClockAlignment> nsa::from_string(std::string_view name) noexcept {
  const auto at = std::ranges::find(trace::kAlignments, name);
  if (at == trace::kAlignments.end()) return std::nullopt;
  return static_cast<trace::ClockAlignment>(at - trace::kAlignments.begin());
}
