// Calls that wait for a place in a full queue of launches: what they return after has to end first,
// and a shorter kernel lets them return sooner.
#include <algorithm>

#include "analyse/sums.hpp"
#include "graph.hpp"

namespace nsa::trace {
namespace {

/// Launches of one stream that have not ended. CUDA's queues hold about a thousand; a host that is
/// so far ahead may wait for one.
constexpr std::ptrdiff_t kFarAhead = 250;
/// Than such a call takes where it waits for nothing.
constexpr double kTimesAsLong = 1.5;

/// A launch, which is one place in the queue, and its last operation.
struct Entry {
  std::int64_t launched_ns, end_ns;
  std::uint32_t op;
};

class Queue {
 public:
  Queue(const TraceContext& context, const LaunchedBefore::Stream& stream)
      : process_(stream.process) {
    std::uint32_t launch = kNone;
    for (const std::uint32_t op : stream.ops) {
      const std::int64_t end = context.trace.ops[op].end_ns;
      if (context.launch[op] != launch) {
        launch = context.launch[op];
        entries_.push_back({context.trace.calls[launch].start_ns, end, op});
        if (entries_.size() > 1) raise(entries_.back(), entries_[entries_.size() - 2]);
      } else if (end >= entries_.back().end_ns) {
        entries_.back().end_ns = end;
        entries_.back().op = op;
      }
    }
  }
  std::uint32_t process() const { return process_; }
  bool ever_far_ahead() const {
    return std::ranges::any_of(
        entries_, [this](const Entry& entry) { return ahead(entry.launched_ns) >= kFarAhead; });
  }
  /// What ended last within the call, if the queue was that full when it began.
  const Entry* freed_in(const ApiCall& call) const {
    if (ahead(call.start_ns) < kFarAhead) return nullptr;
    const auto behind = ended_by(call.end_ns);
    if (behind == entries_.begin() || behind[-1].end_ns <= call.start_ns) return nullptr;
    return &behind[-1];
  }

 private:
  using At = std::vector<Entry>::const_iterator;
  /// Operations of a stream end in the order of their launches; recorded times may differ by some.
  static void raise(Entry& entry, const Entry& before) {
    if (entry.end_ns < before.end_ns) entry = {entry.launched_ns, before.end_ns, before.op};
  }
  At ended_by(std::int64_t at_ns) const {
    return std::partition_point(entries_.begin(), entries_.end(),
                                [=](const Entry& entry) { return entry.end_ns <= at_ns; });
  }
  std::ptrdiff_t ahead(std::int64_t at_ns) const {
    const auto launched =
        std::partition_point(entries_.begin(), entries_.end(),
                             [=](const Entry& entry) { return entry.launched_ns < at_ns; });
    return launched - ended_by(at_ns);
  }

  std::uint32_t process_;
  std::vector<Entry> entries_;
};

/// Calls that wait for nothing else, of processes with a queue.
bool may_wait(const TraceContext& context, const std::vector<Queue>& queues, std::uint32_t call) {
  return context.wait[call] == WaitKind::none &&
         std::ranges::any_of(queues, [&](const Queue& queue) {
           return queue.process() == context.trace.calls[call].process;
         });
}

/// What calls of a name take where they wait for nothing: one in twenty takes no longer.
std::unordered_map<NameId, std::int64_t> usual_ns(const TraceContext& context,
                                                  const std::vector<Queue>& queues) {
  std::unordered_map<NameId, std::vector<std::int64_t>> durations;
  const auto& calls = context.trace.calls;
  for (std::uint32_t i = 0; i < calls.size(); ++i)
    if (may_wait(context, queues, i))
      durations[calls[i].name].push_back(calls[i].end_ns - calls[i].start_ns);
  std::unordered_map<NameId, std::int64_t> usual;
  for (auto& [name, of_name] : durations) usual[name] = nearest_rank(of_name, 5);
  return usual;
}

}  // namespace

void add_full_queues(const TraceContext& context, const LaunchedBefore& launched,
                     PathGraph& graph) {
  std::vector<Queue> queues;
  for (std::uint32_t process = 0; process < launched.processes(); ++process) {
    for (const LaunchedBefore::Stream& stream : launched.of(process)) {
      if (std::ssize(stream.ops) <= kFarAhead) continue;
      Queue queue(context, stream);
      if (queue.ever_far_ahead()) queues.push_back(std::move(queue));
    }
  }
  if (queues.empty()) return;
  const auto usual = usual_ns(context, queues);
  for (std::uint32_t i = 0; i < context.trace.calls.size(); ++i) {
    const ApiCall& call = context.trace.calls[i];
    if (!may_wait(context, queues, i)) continue;
    const std::int64_t least = usual.at(call.name);
    if (static_cast<double>(call.end_ns - call.start_ns) <=
        kTimesAsLong * static_cast<double>(least))
      continue;
    const Entry* last = nullptr;
    for (const Queue& queue : queues) {
      if (queue.process() != call.process) continue;
      const Entry* const freed = queue.freed_in(call);
      if (freed && (!last || freed->end_ns > last->end_ns)) last = freed;
    }
    if (!last) continue;
    graph.waits_for[i].push_back(last->op);
    graph.usual_ns[i] = least;
  }
}

}  // namespace nsa::trace
