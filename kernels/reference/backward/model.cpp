// Backward of what a model has around its attention: norms, the MLP, and the loss.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/backward/backward.hpp"

namespace nsa::reference {

double silu(double x) { return x / (1.0 + std::exp(-x)); }

double silu_slope(double x) {
  const double sigmoid = 1.0 / (1.0 + std::exp(-x));
  return sigmoid * (1.0 + x * (1.0 - sigmoid));
}

void rms_norm_backward(const Row& x, const Row& weight, const Row& d_y, Row& d_weight, Row& d_x) {
  constexpr double kEpsilon = 1e-6;
  const auto n = static_cast<double>(x.size());
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double inverse = 1.0 / std::sqrt(squares / n + kEpsilon);
  double along = 0;  // what a longer row would lose by its norm
  for (std::size_t i = 0; i < x.size(); ++i) along += d_y[i] * weight[i] * x[i];
  for (std::size_t i = 0; i < x.size(); ++i) {
    d_weight[i] += d_y[i] * x[i] * inverse;
    d_x[i] += inverse * (weight[i] * d_y[i] - x[i] * inverse * inverse * along / n);
  }
}

void mlp_backward(const TensorView& w1, const TensorView& w2, const Row& x, const Row& d_y,
                  const TensorView& d_w1, const TensorView& d_w2, Row& d_x) {
  const Row before = linear(w1, 0, w1.shape[0], x);
  Row hidden(before.size()), d_hidden(before.size(), 0.0);
  std::transform(before.begin(), before.end(), hidden.begin(), silu);
  linear_backward(w2, 0, hidden, d_y, d_w2, d_hidden);
  for (std::size_t i = 0; i < before.size(); ++i) d_hidden[i] *= silu_slope(before[i]);
  linear_backward(w1, 0, x, d_hidden, d_w1, d_x);
}

double cross_entropy(const Row& logits, std::size_t target, Row& d_logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  const double lse = largest + std::log(sum);
  d_logits.resize(logits.size());
  std::transform(logits.begin(), logits.end(), d_logits.begin(),
                 [lse](double logit) { return std::exp(logit - lse); });
  d_logits[target] -= 1.0;
  return lse - logits[target];
}

}  // namespace nsa::reference
