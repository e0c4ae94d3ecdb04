// What the host did before each of its calls, and what it waited for in it.
#include <algorithm>

#include "graph.hpp"

namespace nsa::trace {
namespace {

/// Threads that launch something: others (watchdogs, loaders) hold nothing up.
std::vector<char> launching_threads(const TraceContext& context) {
  std::vector<char> out(context.trace.threads.size(), 0);
  for (const std::uint32_t call : context.launch)
    if (call != kNone) out[context.trace.calls[call].thread] = 1;
  return out;
}

/// The calls before the one in hand.
struct Before {
  std::uint32_t own = kNone;     // on its thread, not within another one
  std::uint32_t latest = kNone;  // of threads that launch, the one that ended last
};

class HostOrder {
 public:
  explicit HostOrder(const TraceContext& context)
      : calls_(context.trace.calls),
        launches_(launching_threads(context)),
        own_(context.trace.threads.size(), kNone) {}

  void add(std::uint32_t i, PathGraph& graph) {
    const ApiCall& call = calls_[i];
    std::uint32_t& own = own_[call.thread];
    const bool nested = own != kNone && calls_[own].end_ns > call.start_ns;
    graph.call_is_nested[i] = nested;
    graph.call_before[i] = nested ? own : before(own, call);
    if (nested) return;
    own = i;
    if (launches_[call.thread] == 0) return;
    if (latest_.size() <= call.process) latest_.resize(call.process + std::size_t{1}, kNone);
    std::uint32_t& latest = latest_[call.process];
    if (latest == kNone || calls_[latest].end_ns < call.end_ns) latest = i;
  }

 private:
  /// Where another thread of the process worked since this one's last call, it handed over: as
  /// autograd's thread goes on where the main thread called backward.
  std::uint32_t before(std::uint32_t own, const ApiCall& call) const {
    const std::uint32_t other = call.process < latest_.size() ? latest_[call.process] : kNone;
    if (other == kNone || calls_[other].end_ns > call.start_ns) return own;
    return own == kNone || calls_[own].end_ns < calls_[other].end_ns ? other : own;
  }

  const std::vector<ApiCall>& calls_;
  std::vector<char> launches_;
  Numbers own_, latest_;  // [threads], [processes]
};

}  // namespace

void add_host_order(const TraceContext& context, PathGraph& graph) {
  graph.call_before.assign(context.trace.calls.size(), kNone);
  graph.call_is_nested.assign(context.trace.calls.size(), 0);
  HostOrder order(context);
  for (std::uint32_t i = 0; i < context.trace.calls.size(); ++i) order.add(i, graph);
}

}  // namespace nsa::trace
