#include "processes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

namespace nsa::trace {
namespace {

struct Call {
  std::int64_t start_ns;
  std::uint32_t process;
  bool driver;
};
using Calls = std::unordered_map<std::uint64_t, std::vector<Call>>;  // by correlation id

/// "[TP00]" of "[TP00] 4711"; empty for a plain number.
std::string_view prefix_of(std::string_view pid) {
  pid = pid.substr(0, pid.find_last_not_of("0123456789") + 1);
  return pid.substr(0, pid.find_last_not_of(' ') + 1);
}

/// Pids that call the API, in their order; and which of them each pid is, -1 = none.
std::vector<std::uint32_t> hosts_of(const Trace& trace, std::vector<int>& host_of_pid) {
  std::vector<std::uint32_t> hosts;
  for (const ApiCall& call : trace.calls) {
    if (host_of_pid[call.process] >= 0) continue;
    host_of_pid[call.process] = static_cast<int>(hosts.size());
    hosts.push_back(call.process);
  }
  return hosts;
}

/// Calls by correlation id, and whether two hosts share one. A call of the runtime and the driver's
/// within it are one launch.
bool collect(const Trace& trace, const std::vector<int>& host_of_pid, Calls& calls) {
  bool shared = false;
  for (const ApiCall& call : trace.calls) {
    if (call.correlation == 0) continue;
    auto& same = calls[call.correlation];
    const auto host = static_cast<std::uint32_t>(host_of_pid[call.process]);
    shared |= std::any_of(same.begin(), same.end(), [&](const Call& c) {
      return c.process != host && c.driver == call.driver;
    });
    same.push_back({call.start_ns, host, call.driver});
  }
  return shared;
}

/// From the last call of that host before the operation to it; nothing where there is none.
std::optional<std::int64_t> delay(const Calls& calls, const GpuOp& op, std::uint32_t host) {
  const auto at = calls.find(op.correlation);
  if (op.correlation == 0 || at == calls.end()) return {};
  std::optional<std::int64_t> least;
  for (const Call& call : at->second) {
    if (call.process != host || call.start_ns > op.start_ns) continue;
    least = std::min(least.value_or(std::numeric_limits<std::int64_t>::max()),
                     op.start_ns - call.start_ns);
  }
  return least;
}

/// How badly the calls of a host explain a row's operations: those without a call before them
/// count first.
struct Misfit {
  std::int64_t unexplained = 0;
  long double delay_ns = 0;
  auto operator<=>(const Misfit&) const = default;
};

std::uint32_t best_host(const Calls& calls, const std::vector<const GpuOp*>& ops,
                        std::uint32_t hosts) {
  std::uint32_t best = 0;
  std::optional<Misfit> least;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    Misfit misfit;
    for (const GpuOp* op : ops) {
      const auto ns = delay(calls, *op, host);
      ns ? misfit.delay_ns += static_cast<long double>(*ns) : ++misfit.unexplained;
    }
    if (least && !(misfit < *least)) continue;
    least = misfit;
    best = host;
  }
  return best;
}

/// A row that several ranks draw in ("GPU 0" of each) holds most ids more than once.
bool drawn_by_several(const std::vector<const GpuOp*>& ops) {
  std::unordered_map<std::uint64_t, int> times;
  for (const GpuOp* op : ops)
    if (op->graph_node == 0) ++times[op->correlation];
  const auto twice =
      std::count_if(times.begin(), times.end(), [](auto& t) { return t.second > 1; });
  return 2 * static_cast<std::size_t>(twice) > times.size();
}

}  // namespace

MergedProcesses part_merged_processes(Trace& trace, const std::vector<std::string>& pid_texts) {
  std::vector<int> host_of_pid(pid_texts.size(), -1);
  const std::vector<std::uint32_t> hosts = hosts_of(trace, host_of_pid);
  Calls calls;
  if (hosts.size() < 2 || !collect(trace, host_of_pid, calls)) return {};
  MergedProcesses out;
  for (const std::uint32_t pid : hosts) out.pids.push_back(pid_texts[pid]);
  std::vector<std::vector<const GpuOp*>> rows(pid_texts.size());
  for (const GpuOp& op : trace.ops) rows[op.process].push_back(&op);
  std::vector<char> several(pid_texts.size(), 0);
  for (std::size_t pid = 0; pid < pid_texts.size(); ++pid) {
    if (host_of_pid[pid] < 0) {
      const std::string_view prefix = prefix_of(pid_texts[pid]);
      const auto alike = std::find_if(
          out.pids.begin(), out.pids.end(),
          [&](const std::string& host) { return !prefix.empty() && prefix_of(host) == prefix; });
      several[pid] = alike == out.pids.end() && drawn_by_several(rows[pid]);
      host_of_pid[pid] = alike != out.pids.end()
                             ? static_cast<int>(alike - out.pids.begin())
                             : static_cast<int>(best_host(
                                   calls, rows[pid], static_cast<std::uint32_t>(hosts.size())));
    }
    out.of_pid.push_back(static_cast<std::uint32_t>(host_of_pid[pid]));
  }
  for (GpuOp& op : trace.ops)
    op.process = several[op.process]
                     ? best_host(calls, {&op}, static_cast<std::uint32_t>(hosts.size()))
                     : out.of_pid[op.process];
  return out;
}

}  // namespace nsa::trace
