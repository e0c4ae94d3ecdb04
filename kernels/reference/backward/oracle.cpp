#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "nsa/kernels/backward_oracle.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/parallel.hpp"
#include "reference/backward/gradients.hpp"
#include "reference/backward/of_head.hpp"
#include "reference/oracle_rows.hpp"
#include "runtime/dense.hpp"
#include "training/memory.hpp"

namespace nsa {
namespace {

using reference::Row;

constexpr double kShareOfTypical = 0.1;
// Of both passes of attention or a layer: o or y, and the blocks. Gradients follow.
constexpr std::size_t kForwardOutput = 0, kBlocks = 1;

bool is_attention(Stage stage) {
  return stage == Stage::attend_compressed || stage == Stage::attend_selected ||
         stage == Stage::attend_window;
}

double typical_norm(const Row& gradient, std::int64_t rows) {
  double sum = 0;
  for (const double x : gradient) sum += x * x;
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, rows)));
}

/// Of a row, relative to its norm, or to `floor` where that is more.
double error_of(const Row& expected, const Row& found, double floor) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (expected[i] - found[i]) * (expected[i] - found[i]);
    norm += expected[i] * expected[i];
  }
  const double error = std::sqrt(difference) / std::max({std::sqrt(norm), floor, 1e-300});
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

void judge_row(Oracle::Verdict& verdict, std::int64_t row, double error,
               const reference::ElementCount& bad) {
  verdict.poison_left += bad.poisoned;
  verdict.non_finite += bad.non_finite;
  if (verdict.worst_row >= 0 && !(error > verdict.worst_row_error)) return;
  verdict.worst_row = row;
  verdict.worst_row_error = error;
}

/// What was found in `dtype` against what is right; `weight` times its error counts.
void judge_values(Oracle::Verdict& verdict, std::int64_t row, const Row& expected, const Row& found,
                  double floor, Dtype dtype, double tolerance, double weight = 1) {
  judge_row(verdict, row, weight * error_of(expected, found, floor),
            reference::count_bad(expected, found, dtype, tolerance));
}

/// "norm1" of "layers.3.norm1": what all layers have.
std::string_view in_a_layer(std::string_view name) {
  if (!name.starts_with("layers.")) return name;
  return name.substr(name.find('.', name.find('.') + 1) + 1);
}

}  // namespace

struct BackwardOracle::Answer {
  std::vector<Row> gradients;     // and, of both passes, the forward output and nothing for blocks
  std::vector<double> floors;     // of the norm of a row, for each
  std::vector<std::byte> blocks;  // that both passes were computed over
};

BackwardOracle::BackwardOracle(Stage stage, const Problem& problem,
                               std::span<const TensorView> inputs, const AttentionOptions& options,
                               HeadSample sample, Role role)
    : stage_(stage), problem_(problem), options_(options), dense_(role == Role::baseline) {
  expects(covers(stage, problem.direction), "a stage with a gradient, or a composite's passes");
  const Signature signature = signature_of(stage, problem.direction);
  expects(inputs.size() >= signature.inputs.size(), "the inputs of the signature");
  inputs = inputs.first(signature.inputs.size());
  inputs_.assign(inputs.begin(), inputs.end());
  const bool by_heads = is_attention(stage) || stage == Stage::attention || stage == Stage::layer;
  if (by_heads && forward_flop() > sample.most_flop)
    take_head(
        static_cast<std::int64_t>(sample.choice % static_cast<std::uint64_t>(problem.kv_heads)));
  for (const TensorSpec& spec : signature.outputs)
    extents_.push_back(shape_of(stage, spec.name, problem_).shape[0]);
  if (problem.direction == kForwardBackward && stage != Stage::model) {
    const Problem forward = in_direction(problem_, Direction::forward);
    selection_ = std::make_unique<Oracle>(
        stage, forward, std::span(inputs_).first(signature_of(stage).inputs.size()), options, role);
  }
}

double BackwardOracle::forward_flop() const {
  return dense_ ? reference::flop_of(Stage::attend_window, dense_problem(problem_))
                : reference::flop_of(stage_, problem_);
}

void BackwardOracle::take_head(std::int64_t kv_head) {
  head_ = std::make_unique<reference::OfHead>(problem_, kv_head);
  const auto specs = signature_of(stage_, problem_.direction).inputs;
  of_head_.reserve(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (auto part = head_->part(specs[i].name, inputs_[i]))
      inputs_[i] = of_head_.emplace_back(std::move(*part)).view();
  }
  problem_ = head_->problem();
}

BackwardOracle::Compared BackwardOracle::compared(std::span<const TensorView> outputs) const {
  Compared all{{}, {outputs.begin(), outputs.end()}};
  if (!head_) return all;
  const auto specs = signature_of(stage_, problem_.direction).outputs;
  all.kept.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto part = head_->part(specs[i].name, outputs[i]);
    all.views[i] = part ? all.kept.emplace_back(std::move(*part)).view() : TensorView{};
  }
  return all;
}

HeadSample HeadSample::of(const Problem& problem) {
  return {std::mt19937_64(static_cast<std::uint64_t>(problem.total_tokens()))()};
}

BackwardOracle::~BackwardOracle() = default;

bool BackwardOracle::covers(Stage stage, Direction direction) noexcept {
  return has_gradients(direction) && !signature_of(stage, direction).outputs.empty();
}

std::int64_t BackwardOracle::rows() const noexcept { return std::ranges::max(extents_); }

void BackwardOracle::find_answer(const TensorView& blocks) const {
  const auto* first = blocks.as<const std::byte>();
  const std::span chosen(first, blocks ? blocks.bytes() : 0);
  if (answer_ && std::ranges::equal(answer_->blocks, chosen)) return;
  auto made = std::make_unique<Answer>();
  made->blocks.assign(chosen.begin(), chosen.end());
  if (both_passes())
    made->gradients =
        (stage_ == Stage::layer ? reference::run_layer_passes : reference::run_attention_passes)(
            problem_, inputs_, blocks, options_, dense_);
  else if (stage_ == Stage::model)
    made->gradients = {reference::run_model_passes(problem_, inputs_, options_, dense_)};
  else if (head_)
    made->gradients = reference::gradients_by_row(stage_, problem_, inputs_, options_);
  else
    made->gradients = reference::gradients_of(stage_, problem_, inputs_, options_);
  set_floors(*made);
  answer_ = std::move(made);
}

void BackwardOracle::set_floors(Answer& answer) const {
  std::vector<double> typical;
  for (std::size_t i = 0; i < extents_.size(); ++i)
    typical.push_back(typical_norm(answer.gradients[i], extents_[i]));
  answer.floors = typical;
  // Of queries and keys by the values of their branches.
  const auto specs = signature_of(stage_, problem_.direction).outputs;
  const auto raise = [&](std::string_view gradient, double values) {
    const auto found = std::ranges::find(specs, gradient, &TensorSpec::name);
    double& floor = answer.floors[static_cast<std::size_t>(found - specs.begin())];
    floor = std::max(floor, values);
  };
  constexpr std::string_view kValues = "d_v_";
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string_view name = specs[i].name;
    if (!name.starts_with(kValues) || !(is_attention(stage_) || stage_ == Stage::attention))
      continue;
    raise("d_q", typical[i]);
    raise("d_k_" + std::string(name.substr(kValues.size())), typical[i]);
  }
  if (both_passes()) answer.floors[kForwardOutput] = 0;  // as of the forward pass
  for (double& floor : answer.floors) floor *= kShareOfTypical;
}

void BackwardOracle::judge(Oracle::Verdict& verdict, std::size_t gradient, std::int64_t row,
                           const TensorView& produced, std::int64_t at) const {
  const Row& all = answer_->gradients[gradient];
  const auto width = static_cast<std::int64_t>(all.size()) / extents_[gradient];
  const Row expected(all.begin() + row * width, all.begin() + (row + 1) * width);
  const Row found = reference::load(produced, at * produced.stride[0], width);
  // Of the forward output less is right.
  const bool forward = both_passes() && gradient == kForwardOutput;
  const double weight = forward ? both_passes_tolerance(stage_, problem_.dtype) /
                                      row_tolerance(stage_, problem_.dtype)
                                : 1;
  judge_values(verdict, row, expected, found, answer_->floors[gradient], produced.dtype,
               gradient_tolerance(problem_.dtype), weight);
}

Oracle::Verdict BackwardOracle::verify(std::span<const TensorView> gradients,
                                       std::span<const std::int64_t> rows) const {
  expects(gradients.size() == extents_.size(), "the gradients of the signature");
  const Compared own = compared(gradients);
  if (both_passes()) return verify_passes(own.views);
  find_answer();
  if (stage_ == Stage::model) return verify_model(own.views.front());
  Oracle::Verdict verdict;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const auto one = [&](std::int64_t row) {
      if (row >= 0 && row < extents_[i]) judge(verdict, i, row, own.views[i], row);
    };
    if (!rows.empty()) std::ranges::for_each(rows, one);
    for (std::int64_t row = 0; rows.empty() && row < extents_[i]; ++row) one(row);
  }
  return verdict;
}

Oracle::Verdict BackwardOracle::verify_model(const TensorView& gradients) const {
  ModelConfig config = config_of(problem_);
  config.dtype = gradients.dtype;
  Row& right = answer_->gradients.front();
  const auto found = training::named_parameters(config, gradients);
  config.dtype = Dtype::fp64;
  const auto expected =
      training::named_parameters(config, make_view(right.data(), Dtype::fp64, {std::ssize(right)}));
  std::map<std::string_view, std::pair<double, int>> of_layers;  // sum of squares, layers
  for (const auto& [name, tensor] : expected) {
    auto& [squares, layers] = of_layers[in_a_layer(name)];
    const auto* first = tensor.as<const double>();
    squares += std::inner_product(first, first + tensor.elements(), first, 0.0);
    ++layers;
  }
  Oracle::Verdict verdict;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [squares, layers] = of_layers.at(in_a_layer(expected[i].name));
    const Row right_one = reference::elements_of(expected[i].view),
              one = reference::elements_of(found[i].view);
    const double floor = kShareOfTypical * std::sqrt(squares / layers);
    judge_values(verdict, static_cast<std::int64_t>(i), right_one, one, floor, gradients.dtype,
                 gradient_tolerance(problem_.dtype));
  }
  return verdict;
}

Oracle::Verdict BackwardOracle::verify_passes(std::span<const TensorView> outputs) const {
  const TensorView& blocks = outputs[kBlocks];
  Oracle::Verdict verdict;
  std::mutex mutex;
  reference::parallel_rows(extents_[kBlocks], [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t row = from; row < to; ++row) {
      if (selection_->compare(kBlocks, row, blocks).relative_l2 == 0) continue;
      const std::lock_guard lock(mutex);
      verdict.worst_row_error = 1;
      verdict.worst_row = row;
    }
  });
  if (verdict.worst_row >= 0) return verdict;  // nobody knows what follows from them
  find_answer(blocks);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i == kBlocks || !outputs[i]) continue;
    if (outputs[i].rank == 1) {  // an element is no row: see verify()
      judge_values(verdict, 0, answer_->gradients[i], reference::elements_of(outputs[i]),
                   answer_->floors[i], outputs[i].dtype, gradient_tolerance(problem_.dtype));
      continue;
    }
    constexpr std::int64_t kRows = 64;
    parallel_for(0, extents_[i], kRows, [&](std::int64_t from, std::int64_t to) {
      Oracle::Verdict part;
      for (std::int64_t row = from; row < to; ++row) judge(part, i, row, outputs[i], row);
      const std::lock_guard lock(mutex);
      judge_row(verdict, part.worst_row, part.worst_row_error, {part.poison_left, part.non_finite});
    });
  }
  return verdict;
}

std::vector<Oracle::Verdict> BackwardOracle::verify_packed(
    std::span<const TensorView> gradients, std::span<const std::int64_t> rows) const {
  expects(gradients.size() == extents_.size() && !both_passes(), "gradients of a stage");
  find_answer();
  const Compared own = compared(gradients);
  std::vector<Oracle::Verdict> verdicts(rows.size());
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r] < extents_[i]) judge(verdicts[r], i, rows[r], own.views[i], at++);
  }
  return verdicts;
}

double gradient_tolerance(Dtype dtype) noexcept {
  return dtype == Dtype::fp64 ? 1e-10 : dtype == Dtype::fp32 ? 1e-5 : 1e-2;
}

double both_passes_tolerance(Stage stage, Dtype dtype) noexcept {
  return 2 * (stage == Stage::model ? row_tolerance(stage, dtype) : gradient_tolerance(dtype));
}

}  // namespace nsa
