#include <algorithm>

#include "nsa/kernels/backward_oracle.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/oracle.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa {
namespace {

std::size_t index_of(std::span<const TensorSpec> specs, std::string_view name) {
  const auto at = std::find_if(specs.begin(), specs.end(),
                               [&](const TensorSpec& spec) { return spec.name == name; });
  return static_cast<std::size_t>(at - specs.begin());
}

/// View of one row, which stands for all rows of a tensor: row stride 0.
TensorView row_view(TensorView view, std::size_t index, std::int64_t total_rows) {
  const std::size_t row_bytes = static_cast<std::size_t>(view.stride[0]) * size_of(view.dtype);
  view.data = view.as<std::byte>() + index * row_bytes;
  view.shape[0] = total_rows;
  view.stride[0] = 0;
  return view;
}

}  // namespace

bool SpanOracle::covers(std::span<const Stage> stages, const Problem& problem) {
  if (has_gradients(problem.direction))
    return stages.size() == 1 && BackwardOracle::covers(stages.front(), problem.direction);
  const MergedSignature merged = signature_of(stages);
  std::optional<std::int64_t> rows;
  for (const Stage stage : stages) {
    const Signature own = signature_of(stage);
    for (const TensorSpec& input : own.inputs) {
      if (index_of(merged.inputs, input.name) == merged.inputs.size()) return false;
    }
    for (const TensorSpec& output : own.outputs) {
      const std::int64_t these = shape_of(stage, output.name, problem).shape[0];
      if (rows && *rows != these) return false;
      rows = these;
    }
  }
  return rows.has_value();
}

SpanOracle::SpanOracle(std::span<const Stage> stages, const Problem& problem,
                       std::span<const TensorView> inputs, const AttentionOptions& options,
                       Role role, HeadSample sample) {
  expects(covers(stages, problem), "stages that do not read each other's outputs");
  if (has_gradients(problem.direction)) {
    backward_ =
        std::make_unique<BackwardOracle>(stages.front(), problem, inputs, options, sample, role);
    return;
  }
  const MergedSignature merged = signature_of(stages, problem.direction);
  expects(inputs.size() == merged.inputs.size(), "the inputs of the signature");
  for (const Stage stage : stages) {
    const Signature own = signature_of(stage, problem.direction);
    std::vector<TensorView> in;
    for (const TensorSpec& spec : own.inputs)
      in.push_back(inputs[index_of(merged.inputs, spec.name)]);
    parts_.push_back(
        {std::make_unique<Oracle>(stage, problem, in, options, role), own.outputs.size()});
  }
}

SpanOracle::SpanOracle(SpanOracle&&) noexcept = default;
SpanOracle::~SpanOracle() = default;

std::int64_t SpanOracle::rows() const {
  return backward_ ? backward_->rows() : parts_.front().oracle->rows(0);
}

std::vector<double> SpanOracle::row(std::size_t output, std::int64_t row) const {
  expects(!backward_ && parts_.size() == 1, "the rows of one stage");
  return parts_.front().oracle->row(output, row);
}

Oracle::Verdict SpanOracle::verify(std::span<const TensorView> outputs,
                                   std::span<const std::int64_t> rows) const {
  if (backward_) return backward_->verify(outputs, rows);
  Oracle::Verdict all;
  for (const Part& part : parts_) {
    const Oracle::Verdict one = part.oracle->verify(outputs.first(part.outputs), rows);
    outputs = outputs.subspan(part.outputs);
    all.poison_left += one.poison_left;
    all.non_finite += one.non_finite;
    if (all.worst_row >= 0 && !(one.worst_row_error > all.worst_row_error)) continue;
    all.worst_row = one.worst_row;
    all.worst_row_error = one.worst_row_error;
  }
  return all;
}

std::vector<Oracle::Verdict> SpanOracle::verify_packed(std::span<const TensorView> outputs,
                                                       std::span<const std::int64_t> rows) const {
  if (backward_) return backward_->verify_packed(outputs, rows);
  std::vector<Oracle::Verdict> verdicts(rows.size());
  reference::parallel_rows(std::ssize(rows), [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
      std::vector<TensorView> row;
      for (const TensorView& output : outputs) row.push_back(row_view(output, i, this->rows()));
      verdicts[i] = verify(row, rows.subspan(i, 1));
    }
  });
  return verdicts;
}

double row_tolerance(std::span<const Stage> stages, Dtype dtype) noexcept {
  double most = 0;
  for (const Stage stage : stages) most = std::max(most, row_tolerance(stage, dtype));
  return most;
}

double row_tolerance(std::span<const Stage> stages, Direction direction, Dtype dtype) noexcept {
  if (direction == Direction::backward) return gradient_tolerance(dtype);
  if (direction == kForwardBackward) return both_passes_tolerance(stages.front(), dtype);
  return row_tolerance(stages, dtype);
}

double row_tolerance(const Variant& row, Dtype dtype) noexcept {
  const double usual = row_tolerance(row.stages, row.direction, dtype);
  return dtype == Dtype::fp32 ? std::max(usual, row.fp32_tolerance) : usual;
}

}  // namespace nsa
