#include "calls.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/sums.hpp"
#include "patterns.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kLevels = 6;  // of ranges around a launch in which parameters stand

class Collector {
 public:
  explicit Collector(const TraceContext& context) : context_(context), trace_(context.trace) {}

  CommCalls take() {
    for (std::uint32_t i = 0; i < trace_.ops.size(); ++i)
      if (context_.is_comm(i)) add(i);
    std::stable_sort(out_.calls.begin(), out_.calls.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    return std::move(out_);
  }

 private:
  /// Where the parameters of an operation stand, and which call of the program they are of.
  struct Found {
    NameId arguments = kNoName, range = kNoName;
    std::uint64_t call = 0;  // 0: no parameters, so nothing says what belongs together
  };

  const std::optional<Message>& message(NameId arguments, NameId range) {
    const auto [at, added] = messages_.try_emplace({arguments, range});
    if (added) at->second = message_of(trace_.names.text(arguments), trace_.names.text(range));
    return at->second;
  }

  Found find(std::uint32_t i) {
    const GpuOp& op = trace_.ops[i];
    if (op.arguments != kNoName && message(op.arguments, kNoName))
      return {op.arguments, kNoName, op.external};
    Found out;
    std::size_t level = 0;
    for_each_around(context_.tree, context_.tree.of_op[i], [&](std::uint32_t r) {
      const HostRange& range = trace_.ranges[r];
      if (level++ >= kLevels) return;
      const auto& found = message(range.arguments, range.name);
      if (!found) return;
      // Around a range with a size may stand one with all parameters, but without a size.
      const bool better = out.call == 0 || (!message(out.arguments, out.range)->bytes &&
                                            (found->bytes || found->group_size));
      if (better) out = {range.arguments, range.name, (std::uint64_t{1} << 40) + r};
    });
    return out;
  }

  void add(std::uint32_t i) {
    const GpuOp& op = trace_.ops[i];
    const Found found = find(i);
    const DeviceKey device{trace_.part_of(op.process), op.device};
    // A graph's kernels share what was said of its launch.
    if (found.call != 0 && op.graph_node == 0) {
      const auto [at, added] = of_call_.try_emplace({found.call << 20 ^ op.process, device},
                                                    static_cast<std::uint32_t>(out_.calls.size()));
      if (!added) return extend(out_.calls[at->second], op);
    }
    out_.calls.push_back(
        {op.start_ns, op.end_ns, op.end_ns - op.start_ns, device, kind_of(op, found), i});
  }

  static void extend(CommCall& call, const GpuOp& op) {
    call.start_ns = std::min(call.start_ns, op.start_ns);
    call.end_ns = std::max(call.end_ns, op.end_ns);
    add_to(call.op_ns, op.end_ns - op.start_ns);
  }

  std::uint32_t kind_of(const GpuOp& op, const Found& found) {
    const std::tuple key{op.name, found.arguments, found.range,
                         op.kind == OpKind::copy ? op.bytes : 0};
    const auto [at, added] = kinds_.try_emplace(key, static_cast<std::uint32_t>(out_.kinds.size()));
    if (!added) return at->second;
    const std::string& name = trace_.names.text(op.name);
    const auto comm = op.kind == OpKind::kernel ? comm_of_kernel(name) : comm_of_copy(name);
    CommKind kind;
    kind.transport = comm ? comm->transport : "gloo";
    kind.collective = comm ? comm->collective : "other";
    if (const auto& sent = message(found.arguments, found.range)) kind.message = *sent;
    if (!kind.message.collective.empty()) kind.collective = kind.message.collective;
    if (op.kind == OpKind::copy && kind.transport == "copy" && op.bytes <= INT64_MAX)
      kind.message.bytes = static_cast<std::int64_t>(op.bytes);
    out_.kinds.push_back(std::move(kind));
    return at->second;
  }

  const TraceContext& context_;
  const Trace& trace_;
  CommCalls out_;
  std::map<std::pair<NameId, NameId>, std::optional<Message>> messages_;
  std::map<std::tuple<NameId, NameId, NameId, std::uint64_t>, std::uint32_t> kinds_;
  std::map<std::pair<std::uint64_t, DeviceKey>, std::uint32_t> of_call_;
};

}  // namespace

CommCalls comm_calls(const TraceContext& context) { return Collector(context).take(); }

}  // namespace nsa::trace
