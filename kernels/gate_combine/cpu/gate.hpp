// The gate's small MLP for one row (docs/nsa.md 8): z = fc2(SiLU(fc1(mean q))), softmax(z / tau).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/convert.hpp"
#include "operands/model.hpp"

namespace nsa::gate_combine {

/// Weights of the gate as numbers of the accumulator's type.
template <class T>
struct Gate {
  std::int64_t head_dim, hidden;
  const T* fc1_w;  // [hidden, head_dim]
  const T* fc1_b;  // [hidden]
  const T* fc2_w;  // [3, hidden]
  const T* fc2_b;  // [3]
};

/// Loads the weights into the workspace.
template <class T>
Gate<T> load_gate(const GateWeights& weights, Workspace& workspace) {
  const auto& [w1, b1, w2, b2] = weights;
  const std::int64_t hidden = w1.shape[0], dim = w1.shape[1];
  T* data = workspace.take<T>(hidden * dim + 4 * hidden + 3).data();
  T *fc1_b = data + hidden * dim, *fc2_w = fc1_b + hidden, *fc2_b = fc2_w + 3 * hidden;
  for (std::int64_t i = 0; i < hidden; ++i) load_row(w1, w1.at(i), dim, data + i * dim);
  for (std::int64_t i = 0; i < hidden; ++i) load_row(b1, b1.at(i), 1, fc1_b + i);
  for (std::int64_t i = 0; i < 3; ++i) load_row(w2, w2.at(i), hidden, fc2_w + i * hidden);
  for (std::int64_t i = 0; i < 3; ++i) load_row(b2, b2.at(i), 1, fc2_b + i);
  return {.head_dim = dim,
          .hidden = hidden,
          .fc1_w = data,
          .fc1_b = fc1_b,
          .fc2_w = fc2_w,
          .fc2_b = fc2_b};
}

/// Numbers that load_gate takes.
inline std::int64_t gate_numbers(const Problem& p) {
  const std::int64_t hidden = std::max<std::int64_t>(1, p.head_dim_k / 2);
  return hidden * p.head_dim_k + 4 * hidden + 3;
}

/// Softmax over the branches that are on, by the overrides of `options`.
template <class T>
void branch_weights(const AttentionOptions& options, const T* z, T* weights) {
  std::fill_n(weights, 3, T{0});
  if (options.force_branch) {
    weights[index_of(*options.force_branch)] = T{1};
    return;
  }
  const T tau = static_cast<T>(std::max(options.gate_tau, 1e-6));
  T largest = -std::numeric_limits<T>::infinity(), sum = 0;
  for (const Branch branch : kBranchOrder) {
    if (options.on(branch)) largest = std::max(largest, z[index_of(branch)] / tau);
  }
  for (const Branch branch : kBranchOrder) {
    const std::size_t b = index_of(branch);
    if (options.on(branch)) sum += weights[b] = std::exp(z[b] / tau - largest);
  }
  if (sum == T{0}) return;  // every branch is off
  for (int b = 0; b < 3; ++b) weights[b] /= sum;
}

/// Mean over the heads of a group; `head` is scratch, [head_dim].
template <class T>
void mean_query(const Problem& problem, const TensorView& q, std::int64_t token, std::int64_t group,
                T* mean, T* head) {
  const std::int64_t heads = problem.heads_per_group(), dim = q.shape[2];
  std::fill_n(mean, dim, T{0});
  for (std::int64_t i = 0; i < heads; ++i) {
    load_row(q, q.at(token, group * heads + i), dim, head);
    for (std::int64_t c = 0; c < dim; ++c) mean[c] += head[c];
  }
  for (std::int64_t c = 0; c < dim; ++c) mean[c] /= static_cast<T>(heads);
}

/// Weights of (cmp, sel, win) from a group's mean query.
template <class T>
void gate_row(const Gate<T>& gate, const AttentionOptions& options, const T* mean, T* weights) {
  T z[3] = {};
  if (!options.uniform_gate && !options.force_branch) {
    for (int b = 0; b < 3; ++b) z[b] = gate.fc2_b[b];
    for (std::int64_t h = 0; h < gate.hidden; ++h) {
      T x = gate.fc1_b[h];
      const T* w = gate.fc1_w + h * gate.head_dim;
      for (std::int64_t c = 0; c < gate.head_dim; ++c) x += w[c] * mean[c];
      x /= T{1} + std::exp(-x);  // SiLU
      for (int b = 0; b < 3; ++b) z[b] += gate.fc2_w[b * gate.hidden + h] * x;
    }
  }
  branch_weights(options, z, weights);
}

/// o = sum of weight x branch for the heads of a group. Branches with weight 0 are not read.
template <class T>
void combine_group(const Problem& problem, const GateTensors& tensors, std::int64_t token,
                   std::int64_t group, const T* weights, T* sum, T* row) {
  const TensorView& o = tensors.o;
  const std::int64_t heads = problem.heads_per_group(), dim = o.shape[2];
  for (std::int64_t head = group * heads; head < (group + 1) * heads; ++head) {
    std::fill_n(sum, dim, T{0});
    for (std::size_t b = 0; b < 3; ++b) {
      const TensorView& branch = tensors.branches[b];
      if (weights[b] == T{0} || !branch) continue;
      load_row(branch, branch.at(token, head), dim, row);
      for (std::int64_t c = 0; c < dim; ++c) sum[c] += weights[b] * row[c];
    }
    store_row(o, o.at(token, head), dim, sum);
  }
}

/// Writes the gates of a row where the caller wants them saved.
template <class T>
void save_gates(const LaunchArgs& args, std::int64_t token, std::int64_t group, const T* weights) {
  if (!args.saved || !args.saved->gates) return;
  const TensorView& gates = args.saved->gates;
  store_row(gates, gates.at(token, group), 3, weights);
}

}  // namespace nsa::gate_combine
