#include "pool/checks/output_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/training/directions.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "pool/checks/agreement.hpp"
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

std::int64_t rows_of(std::span<const Stage> stages, std::string_view output,
                     const Problem& problem) {
  return shape_of(stages, output, problem).shape[0];
}

/// Rows to ask a worker for: the same of all outputs, or, where gradients have numbers of rows of
/// their own, some for each of them.
std::vector<std::int64_t> chosen_rows(std::span<const Stage> stages, const Problem& problem,
                                      std::int64_t count, std::uint64_t seed) {
  std::set<std::int64_t> rows, extents;
  for (const TensorSpec& spec : signature_of(stages, problem.direction).outputs)
    extents.insert(rows_of(stages, spec.name, problem));
  for (const std::int64_t extent : extents) {
    const auto some = rows_to_verify(extent, first_rows(stages, problem),
                                     problem.geometry.sel_block, count, seed);
    rows.insert(some.begin(), some.end());
  }
  return {rows.begin(), rows.end()};
}

/// How many of these rows a tensor of `extent` rows has.
std::size_t present(std::span<const std::int64_t> rows, std::int64_t extent) {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [&](std::int64_t row) { return row < extent; }));
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

/// A tensor of a file: its view, and the rows of the whole.
struct Packed {
  TensorView view;
  std::int64_t extent;
};

/// The tensors from the place of rows[first] on.
std::vector<TensorView> rows_from(const std::vector<Packed>& packed,
                                  std::span<const std::int64_t> rows, std::size_t at) {
  std::vector<TensorView> tensors;
  for (const Packed& one : packed) {
    TensorView& tensor = tensors.emplace_back(one.view);
    const std::size_t first = present(rows.first(at), one.extent);
    const std::size_t row_bytes =
        static_cast<std::size_t>(tensor.stride[0]) * size_of(tensor.dtype);
    tensor.data = tensor.as<std::byte>() + first * row_bytes;
    tensor.shape[0] -= static_cast<std::int64_t>(first);
  }
  return tensors;
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
  if (stages_.empty() || problem.direction == kForwardBackward) return;
  rows_ = chosen_rows(stages_, problem, verify_rows, seed);
}

const SpanOracle& OutputCheck::oracle_for(Role role) {
  std::optional<SpanOracle>& oracle = role == Role::baseline ? dense_oracle_ : oracle_;
  if (oracle) return *oracle;
  // The worker looks at the KV head before, where one speaks for all.
  return oracle.emplace(stages_, problem_, inputs(), AttentionOptions{}, role,
                        HeadSample::of(problem_).after());
}

std::vector<TensorView> OutputCheck::inputs() {
  if (inputs_.empty()) inputs_ = make_inputs(stages_, problem_, seed_);
  std::vector<TensorView> views;
  for (const HostTensor& tensor : inputs_) views.push_back(tensor.view());
  return views;
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

void OutputCheck::forget() {
  std::error_code ignored;
  if (inputs_file_) std::filesystem::remove(*inputs_file_, ignored);
  inputs_file_.reset();
  oracle_.reset();
  dense_oracle_.reset();
  inputs_.clear();
}

worker::VerifyRequest OutputCheck::request(std::int64_t handle) {
  worker::VerifyRequest request;
  request.handle = handle;
  if (!rows_.empty()) request.rows = rows_;
  // Two files in turn: one is read while the worker writes the other.
  request.outputs = fmt::format("{}/outputs{}.safetensors", folder_, files_++ % 2);
  std::error_code ignored;
  std::filesystem::remove(request.outputs, ignored);
  return request;
}

std::size_t OutputCheck::present(std::int64_t extent) const {
  return rows_.empty() ? static_cast<std::size_t>(extent) : tuner::present(rows_, extent);
}

std::uint64_t OutputCheck::most_bytes() const {
  std::uint64_t bytes = 1u << 20;  // the header
  for (const TensorSpec& spec : signature_of(stages_, problem_.direction).outputs) {
    const TensorShape shape = shape_of(stages_, spec.name, problem_);
    std::uint64_t row = size_of(shape.dtype) * present(shape.shape[0]);
    for (int i = 1; i < shape.rank; ++i)
      row *= static_cast<std::uint64_t>(shape.shape[static_cast<std::size_t>(i)]);
    bytes += row;
  }
  return bytes;
}

void OutputCheck::judge(CheckResult& result, std::int64_t row, const Oracle::Verdict& verdict,
                        double tolerance) const {
  result.worst_row_error = std::max(*result.worst_row_error, verdict.worst_row_error);
  const bool wrong =
      !(verdict.worst_row_error <= tolerance) || verdict.poison_left > 0 || verdict.non_finite > 0;
  if (!wrong || !result.reason.empty()) return;
  result.verification = Verification::wrong_result;
  result.reason = fmt::format(
      "row {}: relative error {:.3g}, at most {:.3g} is right; {} elements not written, {} not "
      "finite",
      row, verdict.worst_row_error, tolerance, verdict.poison_left, verdict.non_finite);
}

void OutputCheck::check_rows(CheckResult& result, const SpanOracle& oracle,
                             const std::vector<HostTensor>& tensors, double tolerance) const {
  std::vector<Packed> outputs;
  for (const TensorSpec& spec : signature_of(stages_, problem_.direction).outputs)
    outputs.push_back({named(tensors, spec.name).view(), rows_of(stages_, spec.name, problem_)});
  if (rows_.empty()) {
    const Oracle::Verdict verdict = oracle.verify(rows_from(outputs, rows_, 0));
    return judge(result, verdict.worst_row, verdict, tolerance);
  }
  const TimePoint start = Clock::now();
  const std::size_t at_once =
      std::max<std::size_t>(kLeastRows, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < rows_.size(); i += at_once) {
    if (i > 0 && seconds_since(start) > kOracleBudgetS) break;
    const auto rows = std::span(rows_).subspan(i, std::min(at_once, rows_.size() - i));
    const auto verdicts = oracle.verify_packed(rows_from(outputs, rows_, i), rows);
    for (std::size_t j = 0; j < rows.size(); ++j) judge(result, rows[j], verdicts[j], tolerance);
  }
}

CheckResult OutputCheck::check(const std::string& path, const Variant* row) {
  if (stages_.empty()) return {Verification::unverified, std::nullopt, "no oracle for its stages"};
  std::vector<HostTensor> tensors;
  try {
    tensors = read_safetensors(path, most_bytes());
  } catch (const InputError& error) {
    return {Verification::wrong_result, std::nullopt, error.what()};
  }
  const auto specs = signature_of(stages_, problem_.direction).outputs;
  for (const TensorSpec& spec : specs) {
    const TensorShape whole = shape_of(stages_, spec.name, problem_);
    const std::string wrong = shape_error(tensors, spec.name, whole, present(whole.shape[0]));
    if (!wrong.empty()) return {Verification::wrong_result, std::nullopt, wrong};
  }
  const SpanOracle& oracle = oracle_for(row ? row->role : Role::candidate);
  CheckResult result{Verification::verified, 0.0, ""};
  check_rows(result, oracle, tensors, tolerance(row));
  if (row && selects_reduced(*row) && result.verification == Verification::verified)
    result.agreement =
        agreement_of(oracle, named(tensors, specs.front().name).view(), rows_, kOracleBudgetS);
  return result;
}

CheckResult OutputCheck::check(const std::string& path, const Variant* row,
                               const worker::VerifiedReply& said) {
  CheckResult result = check(path, row);
  const double most = tolerance(row);
  const double error = said.worst_row_error.value_or(0);
  const bool doubted = said.poison_left > 0 || said.non_finite > 0 || !(error <= most);
  if (doubted && result.reason.empty()) {
    result.verification = Verification::wrong_result;
    result.reason = fmt::format(
        "the worker says: {} elements not written, {} not finite, worst row error {:.3g}, at most "
        "{:.3g} is right",
        said.poison_left, said.non_finite, error, most);
  }
  if (result.worst_row_error && said.worst_row_error)
    result.worst_row_error = std::max(*result.worst_row_error, *said.worst_row_error);
  return result;
}

}  // namespace nsa::tuner
