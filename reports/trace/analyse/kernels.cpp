#include <algorithm>
#include <array>
#include <map>

#include "launches.hpp"
#include "parts.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

struct Mark {
  std::string_view word, backend;
};

/// By what the libraries call their kernels; the first row that fits decides.
constexpr std::array<Mark, 10> kMarks{{
    {"nsa::", "ours"},
    {"cudnn_generated_fort_native_sdpa", "cudnn"},
    {"cudnn_generated_fort_native_mha", "cudnn"},
    {"fmha_cutlass", "memory_efficient"},
    {"AttentionKernel<", "memory_efficient"},
    {"AttentionBackwardKernel<", "memory_efficient"},
    {"flash_fwd", "flash"},
    {"flash_bwd", "flash"},
    {"FlashAttn", "flash"},
    {"FlashAttention", "flash"},
}};

std::optional<std::string> backend_of_name(const std::string& name) {
  for (const Mark& mark : kMarks) {
    if (name.find(mark.word) == name.npos) continue;
    if (mark.backend == "ours" && name.find("attend") == name.npos) continue;
    return std::string(mark.backend);
  }
  return {};
}

/// PyTorch's math path has no kernel of its own: it is the operator around the launch that tells.
std::vector<int> in_math_path(const TraceContext& context) {
  const NamePool& names = context.trace.names;
  std::vector<int> of_name(names.size(), -1);
  for (NameId i = 0; i < names.size(); ++i) {
    const std::string& name = names.text(i);
    if (name.starts_with("aten::_scaled_dot_product_attention_math")) of_name[i] = 1;
  }
  return innermost_class(context.trace, of_name);
}

struct Group {
  std::vector<std::int64_t> durations;
  std::int64_t in_math = 0, in_math_ns = 0;
  std::int64_t graph_nodes = 0, launches = 0, call_ns = 0, queue_ns = 0;  // as KernelRow
};

/// From the call to the start of a kernel. Nodes of a graph share one call, which says nothing of
/// each.
void count_launch(const TraceContext& context, std::uint32_t op, Group& group) {
  if (context.is_graph_node(op)) {
    ++group.graph_nodes;
  } else if (context.launch[op] != kNone) {
    const ApiCall& call = context.trace.calls[context.launch[op]];
    ++group.launches;
    add_to(group.call_ns, call.end_ns - call.start_ns);
    add_to(group.queue_ns, std::max<std::int64_t>(0, context.trace.ops[op].start_ns - call.end_ns));
  }
}

KernelRow row_of(const std::string& name, bool comm, Group& group) {
  KernelRow row;
  static_cast<TimesByName&>(row) = times_by_name(name, group.durations);
  row.comm = comm;
  row.attention_backend = backend_of_name(name);
  row.graph_nodes = group.graph_nodes;
  row.launches = group.launches;
  row.call_ns = group.call_ns;
  row.queue_ns = group.queue_ns;
  if (!row.attention_backend && group.in_math == row.count) row.attention_backend = "math";
  return row;
}

}  // namespace

void add_kernels(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  const std::vector<int> math = in_math_path(context);
  std::map<NameId, Group> groups;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    if (op.kind != OpKind::kernel) continue;
    Group& group = groups[op.name];
    group.durations.push_back(op.end_ns - op.start_ns);
    count_launch(context, i, group);
    if (context.launch[i] == kNone || math[context.launch[i]] < 0) continue;
    ++group.in_math;
    group.in_math_ns += op.end_ns - op.start_ns;
  }
  std::vector<KernelRow> rows;
  std::map<std::string, AttentionRow> attention;
  const auto count = [&](const std::string& backend, std::int64_t kernels, std::int64_t ns) {
    AttentionRow& row = attention[backend];
    row.backend = backend;
    row.kernels += kernels;
    add_to(row.total_ns, ns);
  };
  for (auto& [name, group] : groups) {
    const KernelRow row = row_of(trace.names.text(name), context.is_comm_kernel[name] != 0, group);
    if (row.attention_backend) {
      count(*row.attention_backend, row.count, row.total_ns);
    } else if (group.in_math > 0) {
      count("math", group.in_math, group.in_math_ns);
    }
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), larger_total);
  out.kernels_by_name = std::move(rows);
  out.attention.emplace();
  for (const auto& [backend, row] : attention) out.attention->push_back(row);
}

}  // namespace nsa::trace
