#include "pool/output_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "pool/order.hpp"
#include "process/child.hpp"

namespace nsa::tuner {
namespace {

// Rows of a whole model take seconds each: the first ones are always checked, then until this.
constexpr double kOracleBudgetS = 5;
constexpr std::size_t kLeastRows = 3;

std::vector<std::int64_t> first_rows(std::span<const Stage> stages, const Problem& problem) {
  const bool compressed = stages.front() == Stage::compress;
  std::vector<std::int64_t> begins;
  for (const Sequence& s : sequences_of(problem))
    begins.push_back(compressed ? s.cmp_begin : s.q_begin);
  return begins;
}

std::int64_t output_rows(std::span<const Stage> stages, const Problem& problem) {
  return shape_of(stages, signature_of(stages).outputs.front().name, problem).shape[0];
}

/// The stages of those names, if an oracle covers them together; else none.
std::vector<Stage> known_stages(const std::vector<std::string>& names, const Problem& problem) {
  std::vector<Stage> stages;
  for (const std::string& name : names) {
    const auto stage = from_string<Stage>(name);
    if (!stage) return {};
    stages.push_back(*stage);
  }
  if (!SpanOracle::covers(stages, problem)) return {};
  return stages;
}

/// View of one row, which stands for all rows of a tensor: row stride 0.
TensorView row_view(const HostTensor& rows, std::size_t index, std::int64_t total_rows) {
  TensorView view = rows.view();
  const std::size_t row_bytes = static_cast<std::size_t>(view.stride[0]) * size_of(view.dtype);
  view.data = view.as<std::byte>() + index * row_bytes;
  view.shape[0] = total_rows;
  view.stride[0] = 0;
  return view;
}

/// What is wrong with the tensors of a file, apart from their values.
std::string shape_error(const std::vector<HostTensor>& tensors, std::string_view name,
                        const TensorShape& whole, std::size_t rows) {
  const auto it = std::find_if(tensors.begin(), tensors.end(),
                               [&](const HostTensor& tensor) { return tensor.name == name; });
  if (it == tensors.end()) return fmt::format("output {} is missing", name);
  TensorShape expected = whole;
  expected.shape[0] = static_cast<std::int64_t>(rows);
  if (it->shape.dtype != expected.dtype)
    return fmt::format("output {} is {} instead of {}", name, to_string(it->shape.dtype),
                       to_string(expected.dtype));
  if (it->shape.rank != expected.rank || it->shape.shape != expected.shape)
    return fmt::format("output {} has another shape than {} rows need", name, rows);
  return {};
}

const HostTensor& named(const std::vector<HostTensor>& tensors, std::string_view name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const HostTensor& tensor) { return tensor.name == name; });
}

}  // namespace

OutputCheck::OutputCheck(const std::vector<std::string>& stages, const Problem& problem,
                         std::uint64_t seed, std::int64_t verify_rows, std::string folder)
    : stages_(known_stages(stages, problem)),
      problem_(problem),
      seed_(seed),
      folder_(std::move(folder)) {
  if (stages_.empty()) return;
  rows_ = rows_to_verify(output_rows(stages_, problem), first_rows(stages_, problem),
                         problem.geometry.sel_block, verify_rows, seed);
}

const SpanOracle& OutputCheck::oracle_for(Role role) {
  std::optional<SpanOracle>& oracle = role == Role::yardstick ? dense_oracle_ : oracle_;
  if (oracle) return *oracle;
  if (inputs_.empty()) inputs_ = make_inputs(stages_, problem_, seed_);
  std::vector<TensorView> views;
  for (const HostTensor& tensor : inputs_) views.push_back(tensor.view());
  return oracle.emplace(stages_, problem_, views, Constants{}, role);
}

std::optional<std::string> OutputCheck::inputs_file() {
  if (stages_.empty()) return std::nullopt;
  if (!inputs_file_) {
    if (inputs_.empty()) inputs_ = make_inputs(stages_, problem_, seed_);
    std::vector<NamedView> tensors;
    for (const HostTensor& tensor : inputs_) tensors.push_back({tensor.name, tensor.view()});
    const std::string path = folder_ + "/inputs.safetensors";
    write_safetensors(path, tensors);
    inputs_file_ = path;
  }
  return inputs_file_;
}

std::string OutputCheck::fresh_outputs_file() const {
  const std::string path = folder_ + "/outputs.safetensors";
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return path;
}

std::uint64_t OutputCheck::most_bytes() const {
  std::uint64_t bytes = 1u << 20;  // the header
  for (const TensorSpec& spec : signature_of(stages_).outputs) {
    const TensorShape shape = shape_of(stages_, spec.name, problem_);
    std::uint64_t row = size_of(shape.dtype) * rows_.size();
    for (int i = 1; i < shape.rank; ++i)
      row *= static_cast<std::uint64_t>(shape.shape[static_cast<std::size_t>(i)]);
    bytes += row;
  }
  return bytes;
}

CheckResult OutputCheck::check(const std::string& path, Role role) {
  if (stages_.empty()) return {Verification::unverified, std::nullopt, "no oracle for its stages"};
  std::vector<HostTensor> tensors;
  try {
    tensors = read_safetensors(path, most_bytes());
  } catch (const InputError& error) {
    return {Verification::wrong_result, std::nullopt, error.what()};
  }
  const auto specs = signature_of(stages_).outputs;
  for (const TensorSpec& spec : specs) {
    const TensorShape whole = shape_of(stages_, spec.name, problem_);
    const std::string wrong = shape_error(tensors, spec.name, whole, rows_.size());
    if (!wrong.empty()) return {Verification::wrong_result, std::nullopt, wrong};
  }
  const SpanOracle& oracle = oracle_for(role);
  CheckResult result{Verification::verified, 0.0, ""};
  const std::int64_t total_rows = output_rows(stages_, problem_);
  const TimePoint start = Clock::now();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i >= kLeastRows && seconds_since(start) > kOracleBudgetS) break;
    std::vector<TensorView> views;
    for (const TensorSpec& spec : specs)
      views.push_back(row_view(named(tensors, spec.name), i, total_rows));
    const Oracle::Verdict verdict = oracle.verify(views, std::span(&rows_[i], 1));
    const bool wrong = !(verdict.worst_row_error <= tolerance()) || verdict.poison_left > 0 ||
                       verdict.non_finite > 0;
    result.worst_row_error = std::max(*result.worst_row_error, verdict.worst_row_error);
    if (wrong && result.reason.empty()) {
      result.verification = Verification::wrong_result;
      result.reason = fmt::format(
          "row {}: relative error {:.3g}, at most {:.3g} is right; {} elements not written, {} not "
          "finite",
          rows_[i], verdict.worst_row_error, tolerance(), verdict.poison_left, verdict.non_finite);
    }
  }
  return result;
}

CheckResult OutputCheck::check(const std::string& path, Role role,
                               const worker::VerifiedReply& said) {
  CheckResult result = check(path, role);
  const double error = said.worst_row_error.value_or(0);
  const bool doubted = said.poison_left > 0 || said.non_finite > 0 || !(error <= tolerance());
  if (doubted && result.reason.empty()) {
    result.verification = Verification::wrong_result;
    result.reason = fmt::format(
        "the worker says: {} elements not written, {} not finite, worst row error {:.3g}, at most "
        "{:.3g} is right",
        said.poison_left, said.non_finite, error, tolerance());
  }
  if (result.worst_row_error && said.worst_row_error)
    result.worst_row_error = std::max(*result.worst_row_error, *said.worst_row_error);
  return result;
}

}  // namespace nsa::tuner
