#include "training_reference.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/kernels/inputs.hpp"

namespace nsa::test {
namespace {

using reference::Row;

TensorView flat_view(Row& row) {
  return make_view(row.data(), Dtype::fp64, {static_cast<std::int64_t>(row.size())});
}

TensorView matrix(const Row& row, std::int64_t columns) {
  return make_view(const_cast<double*>(row.data()), Dtype::fp64,
                   {static_cast<std::int64_t>(row.size()) / columns, columns});
}

Row row_of(const Row& all, std::int64_t index, std::int64_t width) {
  return {all.begin() + index * width, all.begin() + (index + 1) * width};
}
void add_row(Row& all, std::int64_t index, const Row& row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    all[static_cast<std::size_t>(index) * row.size() + i] += row[i];
}
void add(Row& to, const Row& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}
/// Adds to a gradient that is a view.
void add(const TensorView& to, const Row& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to.as<double>()[i] += from[i];
}

Row norm(const Row& x, const TensorView& weight) {
  const Row w = reference::load(weight, 0, weight.shape[0]);
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-6);
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * inverse * w[i];
  return y;
}

Row norm_rows(const Row& x, const TensorView& weight) {
  const std::int64_t dim = weight.shape[0];
  Row y;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(x.size()) / dim; ++r) {
    const Row one = norm(row_of(x, r, dim), weight);
    y.insert(y.end(), one.begin(), one.end());
  }
  return y;
}

void norm_rows_backward(const Row& x, const TensorView& weight, const Row& d_y,
                        const TensorView& d_weight, Row& d_x) {
  const std::int64_t dim = weight.shape[0];
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(x.size()) / dim; ++r) {
    Row d_w(static_cast<std::size_t>(dim), 0.0), d_row(static_cast<std::size_t>(dim), 0.0);
    reference::rms_norm_backward(row_of(x, r, dim), reference::load(weight, 0, dim),
                                 row_of(d_y, r, dim), d_w, d_row);
    add(d_weight, d_w);
    add_row(d_x, r, d_row);
  }
}

std::vector<TensorView> layer_inputs(const Row& normed, const BlockWeights& w, std::int64_t dim) {
  const LayerWeights& a = w.attention;
  return {matrix(normed, dim), a.w_qkv,      a.gate.fc1_w, a.gate.fc1_b,
          a.gate.fc2_w,        a.gate.fc2_b, a.w_o};
}

Row mlp(const BlockWeights& w, const Row& x) {
  Row hidden = reference::linear(w.w_up, 0, w.w_up.shape[0], x);
  std::ranges::transform(hidden, hidden.begin(), reference::silu);
  return reference::linear(w.w_down, 0, w.w_down.shape[0], hidden);
}

}  // namespace

struct ReferenceTraining::Kept {
  Row x0, n1, x1, n2;
  reference::LayerTrace trace;
};

ReferenceTraining::ReferenceTraining(training::TrainingConfig config, std::uint64_t seed)
    : config_(std::move(config)) {
  config_.model.dtype = Dtype::fp64;
  const auto sequences = static_cast<std::size_t>(config_.accumulate * config_.batch);
  problem_ = problem_of(config_.model, std::vector<std::int64_t>(sequences, config_.seq_len),
                        std::vector<std::int64_t>(sequences, 0));
  const HostTensor first = make_weights(config_.model, seed);
  weights_ = reference::load(first.view(), 0, first.shape.shape[0]);
  gradients_.assign(weights_.size(), 0.0);
  moment1_ = moment2_ = gradients_;
  w_ = bind_weights(config_.model, flat_view(weights_));
  d_ = bind_weights(config_.model, flat_view(gradients_));
}

void ReferenceTraining::forward_layer(std::size_t layer, Row& x, Kept& kept) const {
  const BlockWeights& w = w_.blocks[layer];
  const std::int64_t dim = config_.model.model_dim;
  kept.x0 = x;
  kept.n1 = norm_rows(x, w.norm1);
  kept.trace = reference::run_layer(problem_, layer_inputs(kept.n1, w, dim));
  add(x, kept.trace.y);
  kept.x1 = x;
  kept.n2 = norm_rows(x, w.norm2);
  for (std::int64_t r = 0; r < problem_.total_tokens(); ++r)
    add_row(x, r, mlp(w, row_of(kept.n2, r, dim)));
}

void ReferenceTraining::backward_layer(std::size_t layer, const Kept& kept, Row& d_x) {
  const BlockWeights &w = w_.blocks[layer], &d = d_.blocks[layer];
  const std::int64_t dim = config_.model.model_dim;
  Row d_n2(d_x.size(), 0.0);
  for (std::int64_t r = 0; r < problem_.total_tokens(); ++r) {
    Row d_row(static_cast<std::size_t>(dim), 0.0);
    reference::mlp_backward(w.w_up, w.w_down, row_of(kept.n2, r, dim), row_of(d_x, r, dim), d.w_up,
                            d.w_down, d_row);
    add_row(d_n2, r, d_row);
  }
  norm_rows_backward(kept.x1, w.norm2, d_n2, d.norm2, d_x);
  const auto inputs = layer_inputs(kept.n1, w, dim);
  const auto of = reference::run_layer_backward(problem_, inputs, kept.trace, d_x);
  const LayerWeights& a = d.attention;
  add(a.w_qkv, of.w_qkv), add(a.gate.fc1_w, of.fc1_w), add(a.gate.fc1_b, of.fc1_b);
  add(a.gate.fc2_w, of.fc2_w), add(a.gate.fc2_b, of.fc2_b), add(a.w_o, of.w_o);
  norm_rows_backward(kept.x0, w.norm1, of.x, d.norm1, d_x);
}

double ReferenceTraining::head(const Row& x, std::span<const std::int32_t> targets, Row& d_x) {
  const std::int64_t dim = config_.model.model_dim, rows = problem_.total_tokens();
  const double scale = 1.0 / static_cast<double>(rows);
  const Row normed = norm_rows(x, w_.final_norm);
  Row d_normed(x.size(), 0.0);
  double loss = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Row one = row_of(normed, r, dim);
    Row d_logits, d_row(static_cast<std::size_t>(dim), 0.0);
    loss += scale * reference::cross_entropy(
                        reference::linear(w_.lm_head, 0, w_.lm_head.shape[0], one),
                        static_cast<std::size_t>(targets[static_cast<std::size_t>(r)]), d_logits);
    for (double& value : d_logits) value *= scale;
    reference::linear_backward(w_.lm_head, 0, one, d_logits, d_.lm_head, d_row);
    add_row(d_normed, r, d_row);
  }
  norm_rows_backward(x, w_.final_norm, d_normed, d_.final_norm, d_x);
  return loss;
}

double ReferenceTraining::backward(std::span<const std::int32_t> tokens) {
  std::ranges::fill(gradients_, 0.0);
  const std::int64_t dim = config_.model.model_dim;
  std::vector<std::int32_t> in, targets;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) % (config_.seq_len + 1);
    if (at < config_.seq_len) in.push_back(tokens[i]);
    if (at > 0) targets.push_back(tokens[i]);
  }
  Row x;
  for (const std::int32_t token : in) {
    const Row one = reference::load_index(w_.embedding, token);
    x.insert(x.end(), one.begin(), one.end());
  }
  std::vector<Kept> kept(w_.blocks.size());
  for (std::size_t i = 0; i < kept.size(); ++i) forward_layer(i, x, kept[i]);
  Row d_x(x.size(), 0.0);
  const double loss = head(x, targets, d_x);
  for (std::size_t i = kept.size(); i-- > 0;) backward_layer(i, kept[i], d_x);
  for (std::size_t r = 0; r < in.size(); ++r) {
    double* row = d_.embedding.as<double>() + d_.embedding.at(in[r]);
    for (std::int64_t c = 0; c < dim; ++c)
      row[c] += d_x[r * static_cast<std::size_t>(dim) + static_cast<std::size_t>(c)];
  }
  return loss;
}

training::StepResult ReferenceTraining::step(std::span<const std::int32_t> tokens) {
  training::StepResult result{backward(tokens), 0};
  for (const double g : gradients_) result.grad_norm += g * g;
  result.grad_norm = std::sqrt(result.grad_norm);
  const training::AdamW& o = config_.optimizer;
  const double clip = o.max_norm > 0 ? std::min(1.0, o.max_norm / (result.grad_norm + 1e-6)) : 1.0;
  const double rate = training::rate_of(config_.rate, done_++), t = static_cast<double>(done_);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double g = clip * gradients_[i];
    moment1_[i] = o.beta1 * moment1_[i] + (1 - o.beta1) * g;
    moment2_[i] = o.beta2 * moment2_[i] + (1 - o.beta2) * g * g;
    const double m = moment1_[i] / (1 - std::pow(o.beta1, t));
    const double v = moment2_[i] / (1 - std::pow(o.beta2, t));
    weights_[i] -= rate * (m / (std::sqrt(v) + o.epsilon) + o.weight_decay * weights_[i]);
  }
  return result;
}

}  // namespace nsa::test
