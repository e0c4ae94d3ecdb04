#include "suspects.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "groups.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/trace/range_names.hpp"

namespace nsa::doctor {
namespace {

using trace::ApiCall;
using trace::GpuOp;
using trace::HostRange;
using trace::NameId;
using trace::Trace;

constexpr std::array<std::string_view, 2> kUniqueKernels{"unique_dim", "Unique"};

/// By NameId, whether it is so of the name.
template <class Test>
std::vector<bool> names_that(const Trace& trace, const Test& test) {
  std::vector<bool> out(trace.names.size());
  for (NameId i = 0; i < trace.names.size(); ++i) out[i] = test(trace.names.text(i));
  return out;
}

/// Whether an operator ran within attention, by what a range or module around it is called. The
/// same operator anywhere else copies no heads.
class InAttention {
 public:
  explicit InAttention(const Trace& trace) {
    const auto named = names_that(trace, [](const std::string& name) {
      for (const char* word : {"ttention", "attn", "Attn", "attend_"})
        if (name.find(word) != name.npos) return true;
      return false;
    });
    const auto add = [&](const auto& span) {
      if (named[span.name]) spans_[span.thread].push_back({span.start_ns, span.end_ns});
    };
    for (const HostRange& range : trace.ranges) add(range);
    for (const trace::PythonCall& call : trace.python) add(call);
  }
  bool operator()(const HostRange& range) const {
    const auto of_thread = spans_.find(range.thread);
    if (of_thread == spans_.end()) return false;
    return std::any_of(of_thread->second.begin(), of_thread->second.end(), [&](const auto& span) {
      return span.first <= range.start_ns && range.end_ns <= span.second;
    });
  }

 private:
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> spans_;
};

/// Whether the first input of an operator can be K or V: floating numbers of three dimensions or
/// more, and not lengths or labels. What was not recorded excludes nothing.
bool may_repeat_heads(const std::string& arguments) {
  constexpr std::size_t kFewestDims = 3;
  const Json object = Json::parse("{" + arguments + "}", nullptr, false);
  if (!object.is_object()) return true;
  const auto first_of = [&](const char* key) {
    const auto inputs = object.find(key);
    const bool any = inputs != object.end() && inputs->is_array() && !inputs->empty();
    return any ? inputs->front() : Json();
  };
  const Json dims = first_of("Input Dims"), type = first_of("Input type");
  if (dims.is_array() && dims.size() < kFewestDims) return false;
  if (!type.is_string()) return true;
  const auto& name = type.get_ref<const std::string&>();
  for (const char* floating : {"float", "Float", "double", "Double", "Half"})
    if (name.find(floating) != name.npos) return true;
  return false;
}

/// A range of the host and what the GPU did for it.
struct Launched {
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;
  Group gpu{};
};

/// Without those that lie within another one, in the order of threads and times.
void keep_outermost(std::vector<Launched>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Launched& a, const Launched& b) {
    return std::tuple(a.thread, a.start_ns, -a.end_ns) <
           std::tuple(b.thread, b.start_ns, -b.end_ns);
  });
  std::vector<Launched> kept;
  for (const Launched& range : ranges)
    if (kept.empty() || kept.back().thread != range.thread || kept.back().end_ns <= range.start_ns)
      kept.push_back(range);
  ranges = std::move(kept);
}

/// `ranges` as keep_outermost() leaves them.
void add_gpu_time(const Trace& trace, std::vector<Launched>& ranges) {
  if (ranges.empty()) return;
  std::unordered_map<std::uint64_t, Launched*> of_launch;
  for (const ApiCall& call : trace.calls) {
    if (call.correlation == 0) continue;
    const auto after = std::upper_bound(
        ranges.begin(), ranges.end(), call, [](const ApiCall& c, const Launched& range) {
          return std::pair(c.thread, c.start_ns) < std::pair(range.thread, range.start_ns);
        });
    if (after == ranges.begin()) continue;
    Launched& range = *std::prev(after);
    if (range.thread == call.thread && call.start_ns < range.end_ns)
      of_launch[key_of(call)] = &range;
  }
  for (const GpuOp& op : trace.ops)
    if (const auto range = of_launch.find(key_of(op)); range != of_launch.end())
      range->second->gpu.add(op.end_ns - op.start_ns);
}

void add_copied_heads(const Trace& trace, Groups& groups) {
  const auto repeats = names_that(trace, [](const std::string& name) {
    return trace::plain_range_name(name) == "aten::repeat_interleave";
  });
  const InAttention in_attention(trace);
  std::vector<Launched> ranges;
  for (const HostRange& range : trace.ranges)
    if (repeats[range.name] && in_attention(range) &&
        may_repeat_heads(trace.names.text(range.arguments)))
      ranges.push_back({range.thread, range.start_ns, range.end_ns});
  keep_outermost(ranges);
  add_gpu_time(trace, ranges);
  for (const Launched& range : ranges) groups.add("heads_copied", "", range.gpu.total_ns, 0);
}

}  // namespace

std::vector<Group> suspects_of(const Trace& trace) {
  Groups groups;
  const auto uniques = names_that(trace, [](const std::string& name) {
    return std::ranges::any_of(kUniqueKernels,
                               [&](std::string_view word) { return name.find(word) != name.npos; });
  });
  for (const GpuOp& op : trace.ops)
    if (op.kind == trace::OpKind::kernel && uniques[op.name])
      groups.add("range_conversion", "", op.end_ns - op.start_ns, op.correlation);
  add_copied_heads(trace, groups);
  // The whole name: autograd's range around it has it at its end, and the forward pass at its
  // beginning, which computes nothing again.
  const auto again = names_that(trace, [](const std::string& name) {
    return trace::plain_range_name(name) == "CheckpointFunctionBackward";
  });
  for (const HostRange& range : trace.ranges)
    if (again[range.name]) groups.add("checkpointing", "", range.end_ns - range.start_ns, 0);
  return groups.take();
}

}  // namespace nsa::doctor
