#include "align.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyse/communication/patterns.hpp"
#include "analyse/steps/ranges.hpp"
#include "analyse/sums.hpp"
#include "fields.hpp"
#include "hosts.hpp"

namespace nsa::trace {
namespace {

constexpr std::array<std::string_view, 5> kAlignments{"one_clock", "collectives", "steps",
                                                      "absolute_times", "none"};

using Shifts = std::vector<std::int64_t>;
/// Moments of one trace that others may have too: a name, and which one of that name it is.
using Moments = std::map<std::pair<std::string, std::size_t>, std::int64_t>;

/// Clocks of hosts drift apart by some 10 us a second; the same collective ends everywhere within
/// microseconds, and another one milliseconds away.
constexpr std::int64_t kMostCollectiveSpreadNs = 1'000'000;
constexpr std::int64_t kStepShare = 10;  // steps may begin a tenth of a step apart

std::int64_t checked(__int128 ns) {
  if (ns > INT64_MAX || ns < INT64_MIN)
    throw InputError("the times of the traces are too far apart");
  return static_cast<std::int64_t>(ns);
}

/// Ends of collectives: no rank is through before all have come. What goes from one rank to another
/// is none.
Moments collective_ends(const Trace& trace) {
  std::vector<char> collective;  // [names]
  for (NameId id = 0; id < trace.names.size(); ++id) {
    const std::string& name = trace.names.text(id);
    const auto comm = comm_of_kernel(name);
    collective.push_back(comm && waits_for_all(comm->collective));
  }
  Moments out;
  std::map<NameId, std::size_t> counts;
  for (const GpuOp& op : trace.ops) {
    if (op.kind != OpKind::kernel || collective[op.name] == 0) continue;
    out[{trace.names.text(op.name), counts[op.name]++}] = op.end_ns;
  }
  return out;
}

/// Starts of steps that the program itself counts; detected ones are counted from the recording's
/// start.
Moments step_starts(const Trace& trace) {
  Moments out;
  std::map<std::string, std::size_t> counts;
  for (const StepRange& step : marked_steps(trace))
    if (step.source != "detected") out[{step.name, counts[step.name]++}] = step.start_ns;
  return out;
}

std::int64_t shortest_step_ns(const std::vector<Trace>& traces) {
  std::int64_t shortest = kMaxDurationNs;
  for (const Trace& trace : traces)
    for (const StepRange& step : marked_steps(trace))
      shortest = std::min(shortest, step.end_ns - step.start_ns);
  return shortest;
}

/// Those that every trace has.
std::vector<std::vector<std::int64_t>> common(const std::vector<Moments>& traces) {
  std::vector<std::vector<std::int64_t>> out;  // [moments][traces]
  for (const auto& [key, first] : traces.front()) {
    std::vector<std::int64_t> row;
    for (const Moments& of : traces)
      if (const auto at = of.find(key); at != of.end()) row.push_back(at->second);
    if (row.size() == traces.size()) out.push_back(std::move(row));
  }
  return out;
}

/// Adds to the shifts of each host what brings its moments to those of the first one, in the
/// middle. The spread that is left.
std::int64_t bring_together(const std::vector<std::vector<std::int64_t>>& moments,
                            const Hosts& hosts, Shifts& shift) {
  for (std::size_t host = 1; host < hosts.count(); ++host) {
    const std::size_t trace = hosts.first_of(host);
    std::vector<std::int64_t> apart;
    for (const auto& row : moments)
      apart.push_back(checked(__int128{row[0]} - row[trace] - shift[trace]));
    const std::int64_t offset = nearest_rank(apart, 50);
    for (std::size_t i = 0; i < shift.size(); ++i)
      if (hosts.of(i) == host) shift[i] = checked(__int128{shift[i]} + offset);
  }
  std::vector<std::int64_t> spreads;
  for (const auto& row : moments) {
    __int128 least = row[0], most = row[0];
    for (std::size_t i = 1; i < row.size(); ++i) {
      least = std::min(least, __int128{row[i]} + shift[i]);
      most = std::max(most, __int128{row[i]} + shift[i]);
    }
    spreads.push_back(checked(most - least));
  }
  return nearest_rank(spreads, 90);
}

/// By one kind of moments; false where they lie too far apart or are not there. `all`: each trace
/// has to have all of them, since they are told apart by how many came before.
bool align_by(const std::vector<Trace>& traces, const Hosts& hosts, Moments (*find)(const Trace&),
              bool all, std::int64_t most_spread_ns, Placement& out) {
  std::vector<Moments> moments;
  for (const Trace& trace : traces) moments.push_back(find(trace));
  const auto rows = common(moments);
  const auto whole = [&](const Moments& of) { return of.size() == rows.size(); };
  if (rows.empty() || (all && !std::all_of(moments.begin(), moments.end(), whole))) return false;
  Shifts shift = out.shift_ns;
  const std::int64_t spread = bring_together(rows, hosts, shift);
  if (spread > most_spread_ns) return false;
  out.shift_ns = std::move(shift);
  out.clocks.spread_ns = spread;
  return true;
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
  if (hosts.count() == 1)
    return say(ClockAlignment::one_clock,
               "all were recorded on " + hosts.names() + ", whose processes share a clock");
  if (align_by(traces, hosts, collective_ends, true, kMostCollectiveSpreadNs, out))
    return say(ClockAlignment::collectives,
               "the n-th collective of a name is the same operation in all of them, and ends "
               "everywhere at once (" +
                   hosts.names() + ")");
  if (align_by(traces, hosts, step_starts, false, shortest_step_ns(traces) / kStepShare, out))
    return say(ClockAlignment::steps,
               "a step of a name begins everywhere at once (" + hosts.names() + ")");
  const std::string apart = hosts.names() +
                            " have clocks of their own, and neither common collectives nor common "
                            "steps tell how far these are apart";
  if (!hosts.absolute_shifts(out.shift_ns)) return say(ClockAlignment::none, apart);
  return say(ClockAlignment::absolute_times, apart);
}

}  // namespace nsa::trace

template <>
std::optional<nsa::trace::ClockAlignment> nsa::from_string(std::string_view name) noexcept {
  const auto at = std::ranges::find(trace::kAlignments, name);
  if (at == trace::kAlignments.end()) return std::nullopt;
  return static_cast<trace::ClockAlignment>(at - trace::kAlignments.begin());
}
