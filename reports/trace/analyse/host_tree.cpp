#include "host_tree.hpp"

#include <unordered_map>

#include "launches.hpp"

namespace nsa::trace {
namespace {

/// The ranges of each thread that are open at a moment that only moves on.
class Threads {
 public:
  Threads(const Trace& trace) : trace_(trace), open_(trace.threads.size()) {}

  std::uint32_t innermost(std::uint32_t thread, std::int64_t at_ns) {
    std::vector<std::uint32_t>& open = open_[thread];
    while (!open.empty() && trace_.ranges[open.back()].end_ns <= at_ns) open.pop_back();
    return open.empty() ? kNone : open.back();
  }
  void enter(std::uint32_t range) { open_[trace_.ranges[range].thread].push_back(range); }

 private:
  const Trace& trace_;
  std::vector<std::vector<std::uint32_t>> open_;  // [threads]
};

std::uint64_t external_key(std::uint32_t process, std::uint32_t external) {
  return std::uint64_t{process} << 32 | external;
}

/// Operations without a recorded launch, by the number of their operator. Where the number is that
/// of the launch itself, old files say no more than that there was no operator.
void add_externals(const Trace& trace, const std::vector<std::uint32_t>& launch, HostTree& tree) {
  std::unordered_map<std::uint64_t, std::uint32_t> wanted;
  const auto is_linked = [&](std::size_t i) {
    const GpuOp& op = trace.ops[i];
    return launch[i] == kNone && op.external != 0 && op.external != op.correlation;
  };
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    if (is_linked(i))
      wanted.emplace(external_key(trace.ops[i].process, trace.ops[i].external), kNone);
  if (wanted.empty()) return;
  for (std::uint32_t r = 0; r < trace.ranges.size(); ++r) {
    const HostRange& range = trace.ranges[r];
    const auto at = wanted.find(external_key(range.process, range.external));
    if (at != wanted.end() && range.external != 0) at->second = r;
  }
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    if (is_linked(i))
      tree.of_op[i] = wanted.at(external_key(trace.ops[i].process, trace.ops[i].external));
}

}  // namespace

HostTree host_tree(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  HostTree tree;
  tree.parent.resize(trace.ranges.size(), kNone);
  tree.of_call.resize(trace.calls.size(), kNone);
  tree.of_op.resize(trace.ops.size(), kNone);
  Threads threads(trace);
  std::uint32_t next = 0;
  const auto enter_until = [&](std::int64_t at_ns) {
    for (; next < trace.ranges.size() && trace.ranges[next].start_ns <= at_ns; ++next) {
      const HostRange& range = trace.ranges[next];
      if (range.open) continue;
      tree.parent[next] = threads.innermost(range.thread, range.start_ns);
      threads.enter(next);
    }
  };
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    enter_until(call.start_ns);
    tree.of_call[i] = threads.innermost(call.thread, call.start_ns);
  }
  enter_until(kMaxTimeNs);
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    if (launch[i] != kNone) tree.of_op[i] = tree.of_call[launch[i]];
  add_externals(trace, launch, tree);
  return tree;
}

}  // namespace nsa::trace
