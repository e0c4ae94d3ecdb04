#include "launches.hpp"

#include <algorithm>
#include <unordered_map>

namespace nsa::trace {
namespace {

struct Key {
  std::uint64_t correlation;
  std::uint32_t process;
  bool operator==(const Key&) const = default;
};

struct HashKey {
  std::size_t operator()(const Key& key) const noexcept {
    return (key.correlation ^ (std::uint64_t{key.process} << 40)) * 0x9e3779b97f4a7c15ULL;
  }
};

struct Classified {
  std::int64_t start_ns, end_ns;
  int of;
  bool open;
};

/// Ranges that have a class, by thread, in order of start; open ones are cut at the start of the
/// next.
std::unordered_map<std::uint32_t, std::vector<Classified>> classified(
    const Trace& trace, const std::vector<int>& class_of_name,
    const std::vector<int>& class_of_range) {
  std::unordered_map<std::uint32_t, std::vector<Classified>> out;
  for (std::size_t r = 0; r < trace.ranges.size(); ++r) {
    const HostRange& range = trace.ranges[r];
    int of = class_of_name[range.name];
    if (!class_of_range.empty() && class_of_range[r] >= 0) of = class_of_range[r];
    if (of < 0) continue;
    auto& of_thread = out[range.thread];
    if (!of_thread.empty() && of_thread.back().open) of_thread.back().end_ns = range.start_ns;
    of_thread.push_back({range.start_ns, range.open ? kMaxTimeNs : range.end_ns, of, range.open});
  }
  return out;
}

/// The ranges of one thread around a moment that only moves on.
class Around {
 public:
  explicit Around(const std::vector<Classified>& ranges) : ranges_(ranges) {}

  const Classified* innermost_at(std::int64_t ns) {
    for (; next_ < ranges_.size() && ranges_[next_].start_ns <= ns; ++next_)
      open_.push_back(&ranges_[next_]);
    while (!open_.empty() && open_.back()->end_ns <= ns) open_.pop_back();
    return open_.empty() ? nullptr : open_.back();
  }

 private:
  const std::vector<Classified>& ranges_;
  std::size_t next_ = 0;
  std::vector<const Classified*> open_;
};

}  // namespace

std::vector<std::uint32_t> launches_of(const Trace& trace) {
  std::unordered_map<Key, std::uint32_t, HashKey> calls;
  calls.reserve(trace.calls.size());
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    if (call.correlation == 0) continue;
    const auto [at, added] = calls.try_emplace({call.correlation, call.process}, i);
    if (!added && trace.calls[at->second].driver && !call.driver) at->second = i;
  }
  std::vector<std::uint32_t> out;
  out.reserve(trace.ops.size());
  for (const GpuOp& op : trace.ops) {
    const auto at = op.correlation ? calls.find({op.correlation, op.process}) : calls.end();
    out.push_back(at == calls.end() ? kNone : at->second);
  }
  return out;
}

std::vector<int> innermost_class(const Trace& trace, const std::vector<int>& class_of_name,
                                 const std::vector<int>& class_of_range) {
  const auto ranges = classified(trace, class_of_name, class_of_range);
  std::unordered_map<std::uint32_t, Around> around;
  for (const auto& [thread, of_thread] : ranges) around.emplace(thread, Around(of_thread));
  std::vector<int> out;
  out.reserve(trace.calls.size());
  for (const ApiCall& call : trace.calls) {  // in order of start
    const auto at = around.find(call.thread);
    const Classified* range = at == around.end() ? nullptr : at->second.innermost_at(call.start_ns);
    out.push_back(range ? range->of : -1);
  }
  return out;
}

bool is_host_sync(const std::string& api) { return api.find("Synchronize") != std::string::npos; }

}  // namespace nsa::trace
