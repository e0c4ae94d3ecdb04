#include "rows.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace nsa::trace {
namespace {

constexpr std::uint64_t kPidsPerProcess = 10'000'000;  // Linux has at most 4,194,304
constexpr std::uint64_t kDevices = 9'000'000;          // above any pid
constexpr std::uint64_t kUnnumbered = 1'000'000'000;   // texts instead of numbers
constexpr std::uint64_t kFurther = 2'000'000'000;      // rows for what overlaps

std::optional<std::uint32_t> number_of(const std::string& text) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

constexpr std::uint32_t kNobody = UINT32_MAX;

/// kNobody for threads without an event, which get no row.
std::vector<std::uint32_t> process_of_threads(const Trace& trace) {
  std::vector<std::uint32_t> out(trace.threads.size(), kNobody);
  for (const ApiCall& call : trace.calls) out[call.thread] = call.process;
  for (const HostRange& range : trace.ranges) out[range.thread] = range.process;
  for (const PythonCall& call : trace.python) out[call.thread] = call.process;
  for (const Instant& instant : trace.instants) out[instant.thread] = instant.process;
  for (const PythonSample& sample : trace.python_samples) out[sample.thread] = sample.process;
  return out;
}

std::string device_text(const Trace& trace, std::uint32_t process, std::int32_t device) {
  std::string text = "GPU " + std::to_string(device);
  const std::uint32_t part = trace.part_of(process);
  for (const DeviceInfo& info : trace.devices)
    if (info.id == device && info.part == part && !info.name.empty()) return text + " " + info.name;
  return text;
}

}  // namespace

std::uint32_t process_count(const Trace& trace) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, trace.processes.size()));
}

Rows::Rows(const Trace& trace) {
  const std::vector<std::uint32_t> process_of = process_of_threads(trace);
  add_processes(trace);
  add_threads(trace, process_of);
  add_devices(trace);
}

std::uint32_t Rows::free_pid(std::uint64_t wanted, std::uint32_t process) {
  if (pids_.count(static_cast<std::uint32_t>(wanted)) != 0)
    wanted = (process + 1) * kPidsPerProcess + wanted % kPidsPerProcess;
  while (!pids_.insert(static_cast<std::uint32_t>(wanted)).second) ++wanted;
  return static_cast<std::uint32_t>(wanted);
}

std::uint32_t Rows::free_tid(std::uint32_t pid, std::uint64_t wanted) {
  while (!tids_.insert({pid, static_cast<std::uint32_t>(wanted)}).second) ++wanted;
  return static_cast<std::uint32_t>(wanted);
}

std::uint32_t Rows::host_pid(const std::string& text, std::uint32_t process) {
  const auto at = host_pids_.find({process, text});
  if (at != host_pids_.end()) return at->second;
  const std::uint32_t pid = free_pid(number_of(text).value_or(kUnnumbered), process);
  return host_pids_[{process, text}] = pid;
}

void Rows::name_process(const Trace& trace, std::uint32_t pid, std::uint32_t process,
                        const std::string& what, std::int64_t sort_index) {
  std::string name = what;
  std::string label;
  if (process < trace.processes.size()) {
    const ProcessInfo& info = trace.processes[process];
    if (info.rank) name = "rank " + std::to_string(*info.rank) + ": " + name;
    const auto host = info.metadata.find("host");
    if (host != info.metadata.end()) label = host->second;
  }
  process_names_.push_back({pid, process, name, label, sort_index});
}

void Rows::add_processes(const Trace& trace) {
  for (std::uint32_t i = 0; i < process_count(trace); ++i) {
    const bool known = i < trace.processes.size() && !trace.processes[i].pid.empty();
    std::string text = known ? trace.processes[i].pid : "";
    if (!known)  // the pid of the thread that launches, or of the first there is
      for (const ThreadInfo& t : trace.threads)
        if (text.empty() && number_of(t.pid)) text = t.pid;
    processes_.push_back(host_pid(text, i));
    std::string what = "process " + text;
    if (i < trace.processes.size()) {
      const auto program = trace.processes[i].metadata.find("executable");
      if (program != trace.processes[i].metadata.end()) what = program->second + " " + text;
    }
    name_process(trace, processes_.back(), i, what, 2 * i);
  }
}

void Rows::add_threads(const Trace& trace, const std::vector<std::uint32_t>& process_of) {
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    threads_.emplace_back();
    if (process_of[i] == kNobody) continue;
    const ThreadInfo& info = trace.threads[i];
    const std::size_t known = host_pids_.size();
    const std::uint32_t pid = host_pid(info.pid, process_of[i]);
    if (host_pids_.size() != known)
      name_process(trace, pid, process_of[i], "process " + info.pid, 2 * process_of[i]);
    const std::uint32_t tid = free_tid(pid, number_of(info.tid).value_or(kUnnumbered));
    threads_.back() = {pid, tid};
    names_.push_back({threads_.back(), info.name.empty() ? "thread " + info.tid : info.name});
  }
}

void Rows::add_devices(const Trace& trace) {
  std::set<std::pair<std::uint32_t, std::int32_t>> keys;
  for (const GpuOp& op : trace.ops) keys.insert({op.process, op.device});
  for (const Sync& sync : trace.syncs) keys.insert({sync.process, sync.device});
  for (const GpuRange& range : trace.gpu_ranges) keys.insert({range.process, range.device});
  for (const Counter& counter : trace.counters)
    if (counter.device >= 0) keys.insert({counter.process, counter.device});
  for (const auto& [process, device] : keys) {
    const auto number = static_cast<std::uint64_t>(std::max(device, 0)) % 1'000'000;
    const bool alone = process_count(trace) == 1;
    const std::uint64_t wanted =
        alone ? number : (process + 1) * kPidsPerProcess + kDevices + number;
    const bool taken = pids_.count(static_cast<std::uint32_t>(wanted)) != 0;
    const std::uint32_t pid =
        free_pid(taken ? kPidsPerProcess + kDevices + number : wanted, process);
    devices_[{process, device}] = pid;
    name_process(trace, pid, process, device_text(trace, process, device), 2 * process + 1);
  }
}

Row Rows::another(std::uint32_t pid, const std::string& name) {
  std::uint64_t& next = further_.try_emplace(pid, kFurther).first->second;
  const Row row{pid, free_tid(pid, next)};
  next = row.tid + std::uint64_t{1};
  names_.push_back({row, name});
  return row;
}

Row Rows::stream(std::uint32_t pid, std::int64_t stream) {
  const bool small = stream >= 0 && stream < static_cast<std::int64_t>(kUnnumbered);
  const Row row{pid, free_tid(pid, small ? static_cast<std::uint64_t>(stream) : kUnnumbered)};
  names_.push_back({row, "stream " + std::to_string(stream)});
  return row;
}

}  // namespace nsa::trace
