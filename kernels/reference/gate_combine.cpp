// How much each branch counts: a small MLP on the group's mean query, then a softmax over branches.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/reference.hpp"

namespace nsa::reference {

Row mean_query(const Problem& p, const TensorView& q, std::int64_t token, std::int64_t group) {
  Row mean(static_cast<std::size_t>(p.head_dim_k), 0.0);
  for (std::int64_t i = 0; i < p.heads_per_group(); ++i) {
    const Row head = load_head(q, token, group * p.heads_per_group() + i);
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += head[c];
  }
  for (double& x : mean) x /= static_cast<double>(p.heads_per_group());
  return mean;
}

Row affine(const TensorView& weight, const TensorView& bias, const Row& x) {
  Row y = linear(weight, 0, weight.shape[0], x);
  const Row b = load(bias, 0, bias.shape[0]);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i];
  return y;
}

Row gate(const Problem& problem, const TensorView& q, const GateWeights& weights,
         std::int64_t token, std::int64_t group, const AttentionOptions& options) {
  Row p(3, 0.0);
  if (options.force_branch) {
    p[index_of(*options.force_branch)] = 1.0;
    return p;
  }
  Row z(3, 0.0);
  if (!options.uniform_gate) {
    Row hidden = affine(weights.fc1_w, weights.fc1_b, mean_query(problem, q, token, group));
    for (double& x : hidden) x /= 1.0 + std::exp(-x);  // SiLU
    z = affine(weights.fc2_w, weights.fc2_b, hidden);
  }
  const double tau = std::max(options.gate_tau, 1e-6);
  for (const Branch branch : kBranchOrder) {
    double& logit = z[index_of(branch)];
    logit = options.on(branch) ? logit / tau : -std::numeric_limits<double>::infinity();
  }
  const double largest = *std::max_element(z.begin(), z.end());
  if (std::isinf(largest)) return p;  // every branch is off
  double sum = 0;
  for (std::size_t branch = 0; branch < 3; ++branch) {
    sum += p[branch] = std::exp(z[branch] - largest);
  }
  for (double& x : p) x /= sum;
  return p;
}

Row combine(const Problem& problem, std::span<const Row> gates, std::span<const Row> branches) {
  const auto group_size = static_cast<std::size_t>(problem.heads_per_group() * problem.head_dim_v);
  Row o(group_size * gates.size(), 0.0);
  for (std::size_t branch = 0; branch < branches.size(); ++branch) {
    for (std::size_t i = 0; i < branches[branch].size(); ++i) {
      const double weight = gates[i / group_size][branch];
      if (weight != 0) o[i] += weight * branches[branch][i];
    }
  }
  return o;
}

}  // namespace nsa::reference
