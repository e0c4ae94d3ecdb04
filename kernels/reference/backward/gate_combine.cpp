// Backward of the weights of the branches and of their sum.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/backward/backward.hpp"

namespace nsa::reference {
namespace {

void affine_backward(const TensorView& weight, const Row& x, const Row& d_y,
                     const TensorView& d_weight, const TensorView& d_bias, Row& d_x) {
  linear_backward(weight, 0, x, d_y, d_weight, d_x);
  for (std::size_t i = 0; i < d_y.size(); ++i) d_bias.as<double>()[i] += d_y[i];
}

/// Of softmax(z / tau); branches that are off weigh nothing, so nothing reaches their z.
Row softmax_backward(const Row& p, const Row& d_p, double tau) {
  const double mean = std::inner_product(p.begin(), p.end(), d_p.begin(), 0.0);
  Row d_z(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) d_z[i] = p[i] * (d_p[i] - mean) / tau;
  return d_z;
}

}  // namespace

void combine_backward(const Problem& problem, std::span<const Row> gates,
                      std::span<const Row> branches, const Row& d_o, std::vector<Row>& d_gates,
                      std::vector<Row>& d_branches) {
  const auto group_size = static_cast<std::size_t>(problem.heads_per_group() * problem.head_dim_v);
  d_gates.assign(gates.size(), Row(3, 0.0));
  d_branches.assign(branches.size(), Row(d_o.size(), 0.0));
  for (std::size_t branch = 0; branch < branches.size(); ++branch) {
    for (std::size_t i = 0; i < branches[branch].size(); ++i) {
      d_gates[i / group_size][branch] += d_o[i] * branches[branch][i];
      d_branches[branch][i] = d_o[i] * gates[i / group_size][branch];
    }
  }
}

void gate_backward(const GateRow& of, const Row& d_gate, const GateWeights& d_weights,
                   const TensorView& d_q) {
  const auto& [problem, q, weights, token, group, options] = of;
  if (options.force_branch || options.uniform_gate) return;
  const Row mean = mean_query(problem, q, token, group);
  const Row before = affine(weights.fc1_w, weights.fc1_b, mean);
  Row hidden(before.size());
  std::transform(before.begin(), before.end(), hidden.begin(), silu);
  const Row p = gate(problem, q, weights, token, group, options);
  const Row d_z = softmax_backward(p, d_gate, std::max(options.gate_tau, 1e-6));

  Row d_hidden(hidden.size(), 0.0), d_mean(mean.size(), 0.0);
  affine_backward(weights.fc2_w, hidden, d_z, d_weights.fc2_w, d_weights.fc2_b, d_hidden);
  for (std::size_t i = 0; i < before.size(); ++i) d_hidden[i] *= silu_slope(before[i]);
  affine_backward(weights.fc1_w, mean, d_hidden, d_weights.fc1_w, d_weights.fc1_b, d_mean);
  const std::int64_t heads = problem.heads_per_group();
  for (std::int64_t i = 0; i < heads; ++i) {
    double* row = d_q.as<double>() + d_q.at(token, group * heads + i);
    for (std::size_t c = 0; c < d_mean.size(); ++c)
      row[c] += d_mean[c] / static_cast<double>(heads);
  }
}

}  // namespace nsa::reference
