// The gate and the sum of the branches, backward, row by row: the gate is made once more, then
// d_o goes through the sum to the branches, and through softmax, MLP and mean to the queries.
// Gradients of the weights are summed over chunks of rows, and the chunks in their order.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/backward/gradients.hpp"
#include "gate_combine/cpu/gate.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/model_backward.hpp"

namespace nsa::gate_combine {
namespace {

constexpr std::int64_t kChunk = 256;  // rows whose sums stay exact enough in one number

/// One row's numbers, of one thread.
template <class T>
struct Row {
  T *mean, *d_mean;               // [head_dim_k]
  T *before, *hidden, *d_hidden;  // [hidden]
  T *branch, *d_o, *room;         // [max(head_dim_k, head_dim_v)]

  static std::int64_t numbers(const Problem& p) {
    const std::int64_t hidden = std::max<std::int64_t>(1, p.head_dim_k / 2);
    return 2 * p.head_dim_k + 3 * hidden + 3 * std::max(p.head_dim_k, p.head_dim_v);
  }
  Row(const Problem& p, T* data) {
    const std::int64_t units = std::max<std::int64_t>(1, p.head_dim_k / 2);
    const std::int64_t longest = std::max(p.head_dim_k, p.head_dim_v);
    mean = data, d_mean = mean + p.head_dim_k;
    before = d_mean + p.head_dim_k, hidden = before + units, d_hidden = hidden + units;
    branch = d_hidden + units, d_o = branch + longest, room = d_o + longest;
  }
};

template <class T>
class GateBackward {
 public:
  GateBackward(const LaunchArgs& args, const GateBackwardTensors& tensors)
      : args_(args),
        p_(args.problem),
        t_(tensors),
        gate_(load_gate<T>(tensors.weights, args.workspace)),
        rows_(tensors.q.shape[0] * args.problem.kv_heads),
        weights_(gate_numbers(args.problem)),
        chunks_((rows_ + kChunk - 1) / kChunk),
        sums_(args.workspace.take<T>(chunks_ * weights_).data()),
        scratch_(args.workspace.take<T>(parallel_threads() * Row<T>::numbers(p_)).data()) {}

  void run() const {
    parallel_for(0, chunks_, 1, [&](std::int64_t from, std::int64_t to) {
      const Row<T> row(p_, scratch_ + parallel_thread_index() * Row<T>::numbers(p_));
      for (std::int64_t chunk = from; chunk < to; ++chunk) {
        T* sums = sums_ + chunk * weights_;
        std::fill_n(sums, weights_, T{0});
        const std::int64_t end = std::min(rows_, (chunk + 1) * kChunk);
        for (std::int64_t r = chunk * kChunk; r < end; ++r)
          one_row(r / p_.kv_heads, r % p_.kv_heads, row, sums);
      }
    });
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk)
      for (std::int64_t i = 0; i < weights_; ++i) sums_[i] += sums_[chunk * weights_ + i];
    store_weights();
  }

 private:
  void one_row(std::int64_t token, std::int64_t group, const Row<T>& row, T* sums) const {
    T p[3], d_p[3] = {};
    mean_query(p_, t_.q, token, group, row.mean, row.branch);
    make_gate(row, p);
    spread_to_branches(token, group, p, d_p, row);
    std::fill_n(row.d_mean, p_.head_dim_k, T{0});
    if (!args_.options.uniform_gate && !args_.options.force_branch) through_gate(p, d_p, row, sums);
    const T share = T{1} / static_cast<T>(p_.heads_per_group());
    for (std::int64_t c = 0; c < p_.head_dim_k; ++c) row.d_mean[c] *= share;
    for (std::int64_t i = 0; i < p_.heads_per_group(); ++i) {
      cpu::store_gradient(t_.d_q, t_.d_q.at(token, group * p_.heads_per_group() + i), p_.head_dim_k,
                          row.d_mean, args_.adds_to(GateBackwardTensors::kDQ), row.room);
    }
  }

  /// fc1(mean), SiLU of it, and the weights of the branches.
  void make_gate(const Row<T>& row, T* p) const {
    T z[3] = {gate_.fc2_b[0], gate_.fc2_b[1], gate_.fc2_b[2]};
    for (std::int64_t h = 0; h < gate_.hidden; ++h) {
      T x = gate_.fc1_b[h];
      const T* w = gate_.fc1_w + h * gate_.head_dim;
      for (std::int64_t c = 0; c < gate_.head_dim; ++c) x += w[c] * row.mean[c];
      row.before[h] = x;
      row.hidden[h] = x / (T{1} + std::exp(-x));
      for (int b = 0; b < 3; ++b) z[b] += gate_.fc2_w[b * gate_.hidden + h] * row.hidden[h];
    }
    if (args_.options.uniform_gate) std::fill_n(z, 3, T{0});
    branch_weights(args_.options, z, p);
  }

  /// d_branch = p d_o, and d_p = d_o . branch over the heads of the group.
  void spread_to_branches(std::int64_t token, std::int64_t group, const T* p, T* d_p,
                          const Row<T>& row) const {
    const std::int64_t heads = p_.heads_per_group(), dim = p_.head_dim_v;
    for (std::int64_t head = group * heads; head < (group + 1) * heads; ++head) {
      load_row(t_.d_o, t_.d_o.at(token, head), dim, row.d_o);
      for (std::size_t b = 0; b < 3; ++b) {
        if (t_.branches[b] && args_.options.on(kBranchOrder[b])) {
          load_row(t_.branches[b], t_.branches[b].at(token, head), dim, row.branch);
          for (std::int64_t c = 0; c < dim; ++c) d_p[b] += row.d_o[c] * row.branch[c];
        }
        for (std::int64_t c = 0; c < dim; ++c) row.branch[c] = p[b] * row.d_o[c];
        const TensorView& out = t_.d_branches[b];
        cpu::store_gradient(out, out.at(token, head), dim, row.branch,
                            args_.adds_to(GateBackwardTensors::kDBranches[b]), row.room);
      }
    }
  }

  /// Through softmax(z / tau), fc2, SiLU and fc1; adds to the sums of the weights.
  void through_gate(const T* p, const T* d_p, const Row<T>& row, T* sums) const {
    const T tau = static_cast<T>(std::max(args_.options.gate_tau, 1e-6));
    const T mean = p[0] * d_p[0] + p[1] * d_p[1] + p[2] * d_p[2];
    const std::int64_t hidden = gate_.hidden, dim = gate_.head_dim;
    T *d_w1 = sums, *d_b1 = d_w1 + hidden * dim, *d_w2 = d_b1 + hidden, *d_b2 = d_w2 + 3 * hidden;
    std::fill_n(row.d_hidden, hidden, T{0});
    for (int b = 0; b < 3; ++b) {
      const T d_z = p[b] * (d_p[b] - mean) / tau;
      d_b2[b] += d_z;
      for (std::int64_t h = 0; h < hidden; ++h) {
        d_w2[b * hidden + h] += d_z * row.hidden[h];
        row.d_hidden[h] += d_z * gate_.fc2_w[b * hidden + h];
      }
    }
    for (std::int64_t h = 0; h < hidden; ++h) {
      const T s = T{1} / (T{1} + std::exp(-row.before[h]));
      const T d = row.d_hidden[h] * s * (T{1} + row.before[h] * (T{1} - s));
      d_b1[h] += d;
      const T* w = gate_.fc1_w + h * dim;
      for (std::int64_t c = 0; c < dim; ++c) {
        d_w1[h * dim + c] += d * row.mean[c];
        row.d_mean[c] += d * w[c];
      }
    }
  }

  void store_weights() const {
    const std::int64_t hidden = gate_.hidden, dim = gate_.head_dim;
    const auto& [w1, b1, w2, b2] = t_.d_weights;
    T* room = scratch_;
    const T* from = sums_;
    const auto store = [&](const TensorView& out, std::int64_t rows, std::int64_t width,
                           GateBackwardTensors::Output output) {
      for (std::int64_t i = 0; i < rows; ++i, from += width)
        cpu::store_gradient(out, out.at(i), width, from, args_.adds_to(output), room);
    };
    store(w1, hidden, dim, GateBackwardTensors::kDFc1W);
    store(b1, hidden, 1, GateBackwardTensors::kDFc1B);
    store(w2, 3, hidden, GateBackwardTensors::kDFc2W);
    store(b2, 3, 1, GateBackwardTensors::kDFc2B);
  }

  const LaunchArgs& args_;
  const Problem& p_;
  const GateBackwardTensors& t_;
  Gate<T> gate_;
  std::int64_t rows_, weights_, chunks_;
  T *sums_, *scratch_;
};

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const auto tensors = GateBackwardTensors::of(args);
  GateBackward<T>(args, tensors).run();
}

}  // namespace

void backward_gate_fused(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t backward_gate_fused_workspace(const Problem& p) {
  const std::int64_t rows = p.total_tokens() * p.kv_heads;
  const std::int64_t chunks = (rows + kChunk - 1) / kChunk;
  return accumulator_bytes(p) *
             ((1 + chunks) * gate_numbers(p) + parallel_threads() * Row<double>::numbers(p)) +
         4096;
}

}  // namespace nsa::gate_combine
