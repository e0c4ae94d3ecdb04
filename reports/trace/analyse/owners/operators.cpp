// Whose work it was: operators of the CPU and what they launched.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "flop.hpp"
#include "nsa/trace/range_names.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kShapes = 5;

struct Shape {
  std::int64_t count = 0, gpu_ns = 0;
};
using Shapes = std::unordered_map<std::uint64_t, Shape>;  // by name and arguments

std::uint64_t shape_key(const HostRange& range) {
  return std::uint64_t{range.name} << 32 | range.arguments;
}

class Operators {
 public:
  explicit Operators(const TraceContext& context)
      : context_(context), trace_(context.trace), rows_(trace_.names.size()) {
    for (NameId name = 0; name < trace_.names.size(); ++name)
      is_step_.push_back(is_step_name(trace_.names.text(name)));
  }

  std::vector<OperatorRow> rows() {
    for (std::uint32_t r = 0; r < trace_.ranges.size(); ++r)
      if (is_operator(r)) count_host(r);
    for (std::size_t i = 0; i < trace_.ops.size(); ++i)
      if (context_.tree.of_op[i] != kNone) count_gpu(trace_.ops[i], context_.tree.of_op[i]);
    add_shapes();
    std::vector<OperatorRow> out;
    for (NameId name = 0; name < rows_.size(); ++name) {
      if (rows_[name].count == 0) continue;
      rows_[name].name = trace_.names.text(name);
      out.push_back(std::move(rows_[name]));
    }
    std::stable_sort(out.begin(), out.end(), [](const OperatorRow& a, const OperatorRow& b) {
      return std::pair(a.gpu_self_ns, a.host_self_ns) > std::pair(b.gpu_self_ns, b.host_self_ns);
    });
    return out;
  }

 private:
  bool is_operator(std::uint32_t range) const {
    const HostRange& of = trace_.ranges[range];
    return of.kind == RangeKind::cpu_op && !of.open && is_step_[of.name] == 0;
  }
  /// The nearest operator around; annotations may stand between. kNone where it is in none.
  std::uint32_t operator_around(std::uint32_t range) const {
    std::uint32_t around = context_.tree.parent[range];
    while (around != kNone && !is_operator(around)) around = context_.tree.parent[around];
    return around;
  }
  /// Whether a range of the same name is around it, which has its time already.
  bool is_nested(std::uint32_t range) const {
    bool found = false;
    for_each_around(context_.tree, context_.tree.parent[range], [&](std::uint32_t around) {
      found |= trace_.ranges[around].name == trace_.ranges[range].name && is_operator(around);
    });
    return found;
  }

  void count_host(std::uint32_t r) {
    const HostRange& range = trace_.ranges[r];
    const std::int64_t ns = range.end_ns - range.start_ns;
    OperatorRow& row = rows_[range.name];
    ++row.count;
    add_to(row.host_self_ns, ns);
    if (!is_nested(r)) add_to(row.host_ns, ns);
    const std::uint32_t around = operator_around(r);
    if (around != kNone) add_to(rows_[trace_.ranges[around].name].host_self_ns, -ns);
    if (range.arguments != kNoName) ++shapes_[shape_key(range)].count;
  }

  void count_gpu(const GpuOp& op, std::uint32_t innermost) {
    const std::int64_t ns = op.end_ns - op.start_ns;
    names_.clear();
    for_each_around(context_.tree, innermost, [&](std::uint32_t r) {
      const HostRange& range = trace_.ranges[r];
      if (!is_operator(r) || std::count(names_.begin(), names_.end(), range.name) != 0) return;
      OperatorRow& row = rows_[range.name];
      add_to(row.gpu_ns, ns);
      if (names_.empty()) {
        add_to(row.gpu_self_ns, ns);
        ++row.gpu_ops;
      }
      names_.push_back(range.name);
      if (range.arguments != kNoName) add_to(shapes_[shape_key(range)].gpu_ns, ns);
    });
  }

  void add_shapes() {
    for (const auto& [key, shape] : shapes_) {
      const auto name = static_cast<NameId>(key >> 32), arguments = static_cast<NameId>(key);
      OperatorRow& row = rows_[name];
      const OperatorInputs inputs = inputs_of(trace_.names.text(arguments));
      if (const auto flop = flop_of(trace_.names.text(name), inputs))
        row.flop = row.flop.value_or(0) + *flop * static_cast<double>(shape.count);
      if (!inputs.text.empty()) row.shapes.push_back({inputs.text, shape.count, shape.gpu_ns});
    }
    for (OperatorRow& row : rows_) merge_shapes(row.shapes);
  }

  /// Arguments may differ in what is no shape; the largest few are kept.
  static void merge_shapes(std::vector<OperatorShape>& shapes) {
    std::map<std::string, OperatorShape> by_inputs;
    for (const OperatorShape& shape : shapes) {
      OperatorShape& sum = by_inputs[shape.inputs];
      sum.inputs = shape.inputs;
      sum.count += shape.count;
      add_to(sum.gpu_ns, shape.gpu_ns);
    }
    shapes.clear();
    for (auto& [inputs, shape] : by_inputs) shapes.push_back(std::move(shape));
    std::stable_sort(shapes.begin(), shapes.end(),
                     [](const auto& a, const auto& b) { return a.gpu_ns > b.gpu_ns; });
    if (shapes.size() > kShapes) shapes.resize(kShapes);
  }

  const TraceContext& context_;
  const Trace& trace_;
  std::vector<OperatorRow> rows_;  // [names]
  std::vector<char> is_step_;      // [names] what files of 2021 write as operators
  std::vector<NameId> names_;      // of the operators around the operation in hand
  Shapes shapes_;
};

}  // namespace

void add_operators(const TraceContext& context, Summary& out) {
  const auto& ranges = context.trace.ranges;
  if (std::none_of(ranges.begin(), ranges.end(),
                   [](const HostRange& r) { return r.kind == RangeKind::cpu_op; })) {
    out.null_reasons["operators"] = "no operator was recorded; PyTorch's profiler records them";
    return;
  }
  out.operators = Operators(context).rows();
}

}  // namespace nsa::trace
