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
std::vector<int> in_math_path(const Context& context) {
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
};

KernelRow row_of(const std::string& name, bool comm, Group& group) {
  KernelRow row{times_by_name(name, group.durations), comm, backend_of_name(name)};
  if (!row.attention_backend && group.in_math == row.count) row.attention_backend = "math";
  return row;
}

}  // namespace

void add_kernels(const Context& context, Summary& out) {
  const Trace& trace = context.trace;
  const std::vector<int> math = in_math_path(context);
  std::map<NameId, Group> groups;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    if (op.kind != OpKind::kernel) continue;
    Group& group = groups[op.name];
    group.durations.push_back(op.end_ns - op.start_ns);
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
