// What is known only when all events have been seen.
#include <algorithm>
#include <type_traits>

#include "processes.hpp"
#include "read/finish.hpp"
#include "sink.hpp"

namespace nsa::trace {

void JsonSink::close_open() {
  std::int64_t last_ns = -kMaxTimeNs;
  for (const ApiCall& call : trace_.calls) last_ns = std::max(last_ns, call.end_ns);
  for (const HostRange& range : trace_.ranges) last_ns = std::max(last_ns, range.end_ns);
  for (auto& [thread, open] : begun_) {
    for (HostRange& range : open) {
      range.end_ns = std::clamp(last_ns, range.start_ns, range.start_ns + kMaxDurationNs);
      trace_.ranges.push_back(range);
    }
  }
  for (auto& [key, open] : begun_async_) {
    for (AsyncRange& range : open) {
      range.end_ns = std::clamp(last_ns, range.start_ns, range.start_ns + kMaxDurationNs);
      trace_.async_ranges.push_back(range);
    }
  }
}

void JsonSink::join_flows() {
  for (const auto& [key, ends] : flows_) {
    const Flow& flow = ends.flow;
    if (ends.start && ends.end && flow.start_ns <= flow.end_ns &&
        flow.end_ns - flow.start_ns <= kMaxDurationNs)
      trace_.flows.push_back(flow);
  }
}

/// From pids to processes. A file that is not ours holds one process, whatever its pids, but where
/// ranks were merged.
void JsonSink::apply(const OurMetadata& ours) {
  std::vector<std::uint32_t> process(pid_texts_.size(), 0);
  std::vector<std::int32_t> device(pid_texts_.size(), -1);
  for (std::size_t pid = 0; pid < pid_texts_.size(); ++pid) {
    for (std::size_t i = 0; i < ours.pids.size(); ++i)
      if (std::count(ours.pids[i].begin(), ours.pids[i].end(), pid_texts_[pid]) != 0)
        process[pid] = static_cast<std::uint32_t>(i);
    for (const auto& of : ours.device_pids)
      if (of.pid == pid_texts_[pid]) device[pid] = of.device;
  }
  if (ours.device_pids.empty())  // PyTorch's GPUs have the pid that is their number
    for (const GpuOp& op : trace_.ops) device[op.process] = op.device;
  for (ThreadInfo& thread : trace_.threads)  // the pid that the process really had
    for (std::size_t i = 0; i < ours.pids.size(); ++i)
      if (!ours.pids[i].empty() && ours.pids[i].front() == thread.pid) {
        thread.pid = trace_.processes[i].pid;
        break;
      }
  for (Counter& counter : trace_.counters) counter.device = device[counter.process];
  if (ours.pids.empty()) {
    const MergedProcesses merged = part_merged_processes(trace_, pid_texts_);
    if (!merged.pids.empty()) {
      trace_.processes.clear();
      for (const std::string& pid : merged.pids) trace_.processes.emplace_back().pid = pid;
      for_each_event(trace_, [&](auto& event) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(event)>, GpuOp>)
          event.process = merged.of_pid[event.process];
      });
      return;
    }
  }
  for_each_event(trace_, [&](auto& event) { event.process = process[event.process]; });
}

void JsonSink::finish(const OurMetadata& ours, const std::string& where) {
  close_open();
  join_flows();
  std::erase_if(trace_.python_samples, [this](const PythonSample& sample) {
    return sample.frame >= trace_.python_frames.size();  // no file of ours
  });
  for (const auto& [key, thread] : threads_) {
    const auto name = row_names_.find(key);
    if (name != row_names_.end()) trace_.threads[thread].name = name->second;
  }
  apply(ours);
  shift_times(trace_, ours.origin_ns, where);
  nsa::trace::finish(trace_);
}

}  // namespace nsa::trace
