#include "reference/backward/stage.hpp"

#include <algorithm>

#include "nsa/kernels/catalog.hpp"

namespace nsa::reference {
namespace {

/// The gradients of a stage, zeros at first, and views of them.
class Gradients {
 public:
  Gradients(Stage stage, const Problem& problem) : problem_(problem) {
    for (const TensorSpec& spec : signature_of(stage, Direction::backward).outputs) {
      shapes_.push_back(shape_of(stage, spec.name, backward_problem()));
      std::int64_t count = 1;
      for (int i = 0; i < shapes_.back().rank; ++i)
        count *= shapes_.back().shape[static_cast<std::size_t>(i)];
      rows_.emplace_back(static_cast<std::size_t>(count), 0.0);
    }
    expects(!rows_.empty(), "a stage with a gradient");
  }
  TensorView view(std::size_t i) {
    const TensorShape& s = shapes_[i];
    if (s.rank == 1) return make_view(rows_[i].data(), Dtype::fp64, {s.shape[0]});
    if (s.rank == 2) return make_view(rows_[i].data(), Dtype::fp64, {s.shape[0], s.shape[1]});
    return make_view(rows_[i].data(), Dtype::fp64, {s.shape[0], s.shape[1], s.shape[2]});
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  Problem backward_problem() const {
    Problem p = problem_;
    p.direction = Direction::backward;
    return p;
  }
  const Problem& problem_;
  std::vector<TensorShape> shapes_;
  std::vector<Row> rows_;
};

/// Calls f(sequence, query of it) for all tokens.
template <class F>
void for_queries(const Problem& p, const F& f) {
  for (const Sequence& s : sequences_of(p))
    for (std::int64_t i = 0; i < s.q_len; ++i) f(s, i);
}

/// `rows_of(sequence, query, kv_head)`: the rows of the keys that it sees.
template <class RowsOf>
void attention(const Problem& p, std::span<const TensorView> in, const TensorView& o,
               const TensorView& d_o, Gradients& gradients, const RowsOf& rows_of) {
  const TensorView d_q = gradients.view(0), d_k = gradients.view(1), d_v = gradients.view(2);
  for_queries(p, [&](const Sequence& s, std::int64_t query) {
    const std::int64_t token = s.q_begin + query;
    for (std::int64_t head = 0; head < p.q_heads; ++head) {
      const std::int64_t kv_head = head / p.heads_per_group();
      Row gradient(static_cast<std::size_t>(p.head_dim_k), 0.0);
      const Row stored = load_head(o, token, head);
      attend_backward(load_head(in[0], token, head), in[1], in[2], rows_of(s, query, kv_head),
                      kv_head, load_head(d_o, token, head), gradient, d_k, d_v, &stored);
      std::ranges::copy(gradient, d_q.as<double>() + d_q.at(token, head));
    }
  });
}

void selected(const Problem& p, std::span<const TensorView> in, Gradients& gradients) {
  const TensorView& ranges = in[4];
  attention(
      p, in, in[5], in[6], gradients,
      [&](const Sequence& s, std::int64_t query, std::int64_t kv_head) {
        const auto* row = ranges.as<const std::int32_t>() + ranges.at(s.q_begin + query, kv_head);
        return selected_rows(s, std::span(row, static_cast<std::size_t>(2 * ranges.shape[2])));
      });
}

void band(Stage stage, const Problem& p, std::span<const TensorView> in, Gradients& gradients) {
  attention(p, in, in[3], in[4], gradients,
            [&](const Sequence& s, std::int64_t query, std::int64_t) {
              const std::int64_t t = s.first_position() + query;
              return stage == Stage::attend_window ? window_rows(s, t, p.geometry)
                                                   : compressed_rows(s, t, p.geometry);
            });
}

void compress(const Problem& p, std::span<const TensorView> in, Gradients& gradients) {
  for (std::size_t side = 0; side < 2; ++side) {
    const TensorView d_raw = gradients.view(side);
    for (const Sequence& s : sequences_of(p)) {
      for (std::int64_t i = 0; i < s.cmp_len; ++i) {
        for (std::int64_t head = 0; head < p.kv_heads; ++head)
          pool_backward(load_head(in[side], s.cmp_begin + i, head),
                        s.kv_begin + i * p.geometry.cmp_stride, head, p.geometry, d_raw);
      }
    }
  }
}

void gate_combine(const Problem& p, std::span<const TensorView> in, Gradients& gradients,
                  const AttentionOptions& options) {
  const GateWeights weights{in[4], in[5], in[6], in[7]};
  const GateWeights d_weights{gradients.view(4), gradients.view(5), gradients.view(6),
                              gradients.view(7)};
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    std::vector<Row> gates, branches, d_gates, d_branches;
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gates.push_back(gate(p, in[0], weights, token, g, options));
    for (const Branch branch : kBranchOrder) {
      const TensorView& o = in[1 + index_of(branch)];
      branches.push_back(options.on(branch) ? load_index(o, token) : Row{});
    }
    combine_backward(p, gates, branches, load_index(in[8], token), d_gates, d_branches);
    for (std::size_t b = 0; b < 3; ++b) {
      const TensorView d_branch = gradients.view(1 + b);
      std::ranges::copy(d_branches[b], d_branch.as<double>() + d_branch.at(token));
    }
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gate_backward(p, in[0], weights, token, g, options, d_gates[static_cast<std::size_t>(g)],
                    d_weights, gradients.view(0));
  }
}

void project_rope(const Problem& p, std::span<const TensorView> in, Gradients& gradients,
                  const AttentionOptions& options) {
  const std::vector<Projection> parts = projections(p);
  const TensorView d_x = gradients.view(0), d_w = gradients.view(1);
  for_queries(p, [&](const Sequence& s, std::int64_t query) {
    const std::int64_t token = s.q_begin + query;
    const Row x = load_index(in[0], token);
    Row d_row(x.size(), 0.0);
    for (std::size_t i = 0; i < parts.size(); ++i)
      project_token_backward(parts[i], in[1], x, s.first_position() + query, options,
                             load_index(in[2 + i], token), d_w, d_row);
    std::ranges::copy(d_row, d_x.as<double>() + d_x.at(token));
  });
}

void out_proj(const Problem& p, std::span<const TensorView> in, Gradients& gradients) {
  const TensorView d_o = gradients.view(0), d_w = gradients.view(1);
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    const Row o = load_index(in[0], token);
    Row d_row(o.size(), 0.0);
    linear_backward(in[1], 0, o, load_index(in[2], token), d_w, d_row);
    std::ranges::copy(d_row, d_o.as<double>() + d_o.at(token));
  }
}

}  // namespace

std::vector<Row> run_stage_backward(Stage stage, const Problem& p,
                                    std::span<const TensorView> inputs,
                                    const AttentionOptions& options) {
  Gradients gradients(stage, p);
  if (stage == Stage::attend_selected) selected(p, inputs, gradients);
  if (stage == Stage::attend_window || stage == Stage::attend_compressed)
    band(stage, p, inputs, gradients);
  if (stage == Stage::compress) compress(p, inputs, gradients);
  if (stage == Stage::gate_combine) gate_combine(p, inputs, gradients, options);
  if (stage == Stage::project_rope) project_rope(p, inputs, gradients, options);
  if (stage == Stage::out_proj) out_proj(p, inputs, gradients);
  return gradients.take();
}

}  // namespace nsa::reference
