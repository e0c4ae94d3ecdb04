#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "nsa/kernels/backward_inputs.hpp"
#include "nsa/kernels/backward_oracle.hpp"
#include "nsa/kernels/catalog.hpp"
#include "reference/backward/stage.hpp"
#include "reference/first_row.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa {
namespace {

using reference::Row;

/// Multiply-adds that the reference, which is written to be read, may take.
constexpr double kMostOfReference = 1e8;
constexpr double kShareOfTypical = 0.1;

bool is_attention(Stage stage) {
  return stage == Stage::attend_compressed || stage == Stage::attend_selected ||
         stage == Stage::attend_window;
}

/// By the first row that runs the problem in fp64.
std::vector<Row> run_row(Stage stage, const Problem& problem, std::span<const TensorView> inputs,
                         const AttentionOptions& options) {
  Problem p = problem;
  p.dtype = Dtype::fp64;
  std::vector<HostTensor> exact;
  std::vector<TensorView> in, out;
  for (const TensorView& input : inputs) exact.push_back(in_fp64(input));
  for (const HostTensor& tensor : exact) in.push_back(tensor.view());
  std::vector<HostTensor> gradients = make_outputs(stage, p);
  for (const HostTensor& tensor : gradients) out.push_back(tensor.view());
  reference::run_first_row(stage, p, in, out, options);
  std::vector<Row> rows;
  for (const TensorView& view : out)
    rows.emplace_back(view.as<const double>(), view.as<const double>() + view.elements());
  return rows;
}

/// Heads of dimension 1 that belong to one KV head, packed.
HostTensor heads_of(const TensorView& tensor, std::int64_t kv_head, std::int64_t kv_heads) {
  const std::int64_t heads = tensor.shape[1] / kv_heads;
  HostTensor part{"", {tensor.dtype, tensor.rank, tensor.shape}, {}};
  part.shape.shape[1] = heads;
  const auto row_bytes = static_cast<std::size_t>(heads * tensor.shape[2]) * size_of(tensor.dtype);
  part.bytes.resize(row_bytes * static_cast<std::size_t>(tensor.shape[0]));
  std::byte* to = part.bytes.data();
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row, to += row_bytes) {
    const auto at = static_cast<std::size_t>(tensor.at(row, kv_head * heads));
    std::memcpy(to, tensor.as<const std::byte>() + at * size_of(tensor.dtype), row_bytes);
  }
  return part;
}

double flop_of(Stage stage, Problem problem) {
  problem.direction = Direction::forward;
  return candidates_of(stage, Backend::cpu).front()->cost(problem).flop;
}

double typical_norm(const Row& gradient, std::int64_t rows) {
  double sum = 0;
  for (const double x : gradient) sum += x * x;
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, rows)));
}

}  // namespace

struct BackwardOracle::Answer {
  std::vector<Row> gradients;
  std::vector<double> floors;  // of the norm of a row, for each gradient
};

BackwardOracle::BackwardOracle(Stage stage, const Problem& problem,
                               std::span<const TensorView> inputs, const AttentionOptions& options,
                               HeadSample sample)
    : stage_(stage), problem_(problem), options_(options), kv_heads_(problem.kv_heads) {
  const Signature signature = signature_of(stage, Direction::backward);
  expects(problem.direction == Direction::backward && covers(stage),
          "a backward problem of a stage with a gradient");
  expects(inputs.size() >= signature.inputs.size(), "the inputs of the signature");
  inputs = inputs.first(signature.inputs.size());
  inputs_.assign(inputs.begin(), inputs.end());
  for (const TensorSpec& spec : signature.outputs)
    extents_.push_back(shape_of(stage, spec.name, problem).shape[0]);
  if (!is_attention(stage) || flop_of(stage, problem) <= sample.most_flop) return;
  first_kv_head_ = static_cast<std::int64_t>(sample.choice % static_cast<std::uint64_t>(kv_heads_));
  kv_heads_ = 1;
}

HeadSample HeadSample::of(const Problem& problem) {
  return {std::mt19937_64(static_cast<std::uint64_t>(problem.total_tokens()))()};
}

BackwardOracle::~BackwardOracle() = default;

bool BackwardOracle::covers(Stage stage) noexcept {
  return !signature_of(stage, Direction::backward).outputs.empty();
}

std::int64_t BackwardOracle::rows() const noexcept { return std::ranges::max(extents_); }

const BackwardOracle::Answer& BackwardOracle::answer() const {
  if (answer_) return *answer_;
  auto made = std::make_unique<Answer>();
  if (kv_heads_ < problem_.kv_heads)
    made->gradients = gradients_of_head();
  else if (flop_of(stage_, problem_) <= kMostOfReference)
    made->gradients = reference::run_stage_backward(stage_, problem_, inputs_, options_);
  else
    made->gradients = run_row(stage_, problem_, inputs_, options_);
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    double typical = typical_norm(made->gradients[i], extents_[i]);
    if (is_attention(stage_))
      typical = std::max(typical, typical_norm(made->gradients[2], extents_[2]));
    made->floors.push_back(kShareOfTypical * typical);
  }
  answer_ = std::move(made);
  return *answer_;
}

std::vector<std::vector<double>> BackwardOracle::gradients_of_head() const {
  Problem one = problem_;
  one.q_heads = problem_.heads_per_group();
  one.kv_heads = 1;
  std::vector<HostTensor> parts;
  std::vector<TensorView> in;
  for (const TensorView& input : inputs_)
    parts.push_back(heads_of(input, first_kv_head_, problem_.kv_heads));
  for (const HostTensor& part : parts) in.push_back(part.view());
  return run_row(stage_, one, in, options_);
}

void BackwardOracle::judge(Oracle::Verdict& verdict, std::size_t gradient, std::int64_t row,
                           const TensorView& produced, std::int64_t at) const {
  const Answer& right = answer();
  const Row& all = right.gradients[gradient];
  const auto width = static_cast<std::int64_t>(all.size()) / extents_[gradient];
  const Row expected(all.begin() + row * width, all.begin() + (row + 1) * width);
  const Row found =
      reference::load(produced, at * produced.stride[0] + first_kv_head_ * width, width);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (expected[i] - found[i]) * (expected[i] - found[i]);
    norm += expected[i] * expected[i];
  }
  double error =
      std::sqrt(difference) / std::max({std::sqrt(norm), right.floors[gradient], 1e-300});
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  const auto bad =
      reference::count_bad(expected, found, produced.dtype, gradient_tolerance(problem_.dtype));
  verdict.poison_left += bad.poisoned;
  verdict.non_finite += bad.non_finite;
  if (verdict.worst_row >= 0 && !(error > verdict.worst_row_error)) return;
  verdict.worst_row = row;
  verdict.worst_row_error = error;
}

Oracle::Verdict BackwardOracle::verify(std::span<const TensorView> gradients,
                                       std::span<const std::int64_t> rows) const {
  expects(gradients.size() == extents_.size(), "the gradients of the signature");
  Oracle::Verdict verdict;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const auto one = [&](std::int64_t row) {
      if (row >= 0 && row < extents_[i]) judge(verdict, i, row, gradients[i], row);
    };
    if (!rows.empty()) std::ranges::for_each(rows, one);
    for (std::int64_t row = 0; rows.empty() && row < extents_[i]; ++row) one(row);
  }
  return verdict;
}

std::vector<Oracle::Verdict> BackwardOracle::verify_packed(
    std::span<const TensorView> gradients, std::span<const std::int64_t> rows) const {
  expects(gradients.size() == extents_.size(), "the gradients of the signature");
  std::vector<Oracle::Verdict> verdicts(rows.size());
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r] < extents_[i]) judge(verdicts[r], i, rows[r], gradients[i], at++);
  }
  return verdicts;
}

double gradient_tolerance(Dtype dtype) noexcept {
  return dtype == Dtype::fp64 ? 1e-10 : dtype == Dtype::fp32 ? 1e-5 : 1e-2;
}

}  // namespace nsa
