#include "reference/backward/stage.hpp"

#include <algorithm>

#include "operands/named.hpp"

namespace nsa::reference {
namespace {

/// The gradients of a stage, zeros at first, and views of them by name.
class Gradients {
 public:
  Gradients(Stage stage, const Problem& problem)
      : problem_(problem), specs_(signature_of(stage, Direction::backward).outputs) {
    for (const TensorSpec& spec : specs_) {
      shapes_.push_back(shape_of(stage, spec.name, backward_problem()));
      std::int64_t count = 1;
      for (int i = 0; i < shapes_.back().rank; ++i)
        count *= shapes_.back().shape[static_cast<std::size_t>(i)];
      rows_.emplace_back(static_cast<std::size_t>(count), 0.0);
    }
    expects(!rows_.empty(), "a stage with a gradient");
  }
  TensorView operator[](std::string_view name) {
    const auto found = std::ranges::find(specs_, name, &TensorSpec::name);
    expects(found != specs_.end(), "a gradient of the stage");
    const auto i = static_cast<std::size_t>(found - specs_.begin());
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
  std::span<const TensorSpec> specs_;
  std::vector<TensorShape> shapes_;
  std::vector<Row> rows_;
};

/// Calls f(sequence, query of it) for all tokens.
template <class F>
void for_queries(const Problem& p, const F& f) {
  for (const Sequence& s : sequences_of(p))
    for (std::int64_t i = 0; i < s.q_len; ++i) f(s, i);
}

/// What a branch of attention reads and writes.
struct BranchTensors {
  TensorView q, o, d_o;
  KvTensors kv;
  TensorView d_q;  // out
  KvTensors d_kv;  // out
};

BranchTensors branch_tensors(Stage stage, const NamedTensors& in, Gradients& gradients) {
  return {
      .q = in["q"],
      .o = in[of_branch("o", stage)],
      .d_o = in[of_branch("d_o", stage)],
      .kv = {.k = in[of_branch("k", stage)], .v = in[of_branch("v", stage)]},
      .d_q = gradients["d_q"],
      .d_kv = {.k = gradients[of_branch("d_k", stage)], .v = gradients[of_branch("d_v", stage)]}};
}

/// `rows_of(sequence, query, kv_head)`: the rows of the keys that it sees.
template <class RowsOf>
void attention(const Problem& p, const BranchTensors& t, const RowsOf& rows_of) {
  for_queries(p, [&](const Sequence& s, std::int64_t query) {
    const std::int64_t token = s.q_begin + query;
    for (std::int64_t head = 0; head < p.q_heads; ++head) {
      const std::int64_t kv_head = head / p.heads_per_group();
      Row gradient(static_cast<std::size_t>(p.head_dim_k), 0.0);
      const Row stored = load_head(t.o, token, head);
      attend_backward({.q = load_head(t.q, token, head),
                       .kv = t.kv,
                       .rows = rows_of(s, query, kv_head),
                       .head = kv_head,
                       .d_o = load_head(t.d_o, token, head),
                       .o = &stored},
                      gradient, t.d_kv);
      std::ranges::copy(gradient, t.d_q.as<double>() + t.d_q.at(token, head));
    }
  });
}

void selected(const Problem& p, const NamedTensors& in, Gradients& gradients) {
  const TensorView& ranges = in["ranges"];
  attention(
      p, branch_tensors(Stage::attend_selected, in, gradients),
      [&](const Sequence& s, std::int64_t query, std::int64_t kv_head) {
        const auto* row = ranges.as<const std::int32_t>() + ranges.at(s.q_begin + query, kv_head);
        return selected_rows(s, std::span(row, static_cast<std::size_t>(2 * ranges.shape[2])));
      });
}

void band(Stage stage, const Problem& p, const NamedTensors& in, Gradients& gradients) {
  attention(p, branch_tensors(stage, in, gradients),
            [&](const Sequence& s, std::int64_t query, std::int64_t) {
              const std::int64_t t = s.first_position() + query;
              return stage == Stage::attend_window ? window_rows(s, t, p.geometry)
                                                   : compressed_rows(s, t, p.geometry);
            });
}

void compress(const Problem& p, const NamedTensors& in, Gradients& gradients) {
  for (const auto& [d_pooled, d_raw] : {std::pair{in["d_k_cmp"], gradients["d_k_cmp_raw"]},
                                        std::pair{in["d_v_cmp"], gradients["d_v_cmp_raw"]}}) {
    for (const Sequence& s : sequences_of(p)) {
      for (std::int64_t i = 0; i < s.cmp_len; ++i) {
        for (std::int64_t head = 0; head < p.kv_heads; ++head)
          pool_backward(load_head(d_pooled, s.cmp_begin + i, head),
                        s.kv_begin + i * p.geometry.cmp_stride, head, p.geometry, d_raw);
      }
    }
  }
}

void gate_combine(const Problem& p, const NamedTensors& in, Gradients& gradients,
                  const AttentionOptions& options) {
  const TensorView &q = in["q"], &d_o = in["d_o"];
  const GateWeights weights = gate_weights(in);
  const TensorView d_q = gradients["d_q"];
  const GateWeights d_weights{.fc1_w = gradients["d_fc1_w"],
                              .fc1_b = gradients["d_fc1_b"],
                              .fc2_w = gradients["d_fc2_w"],
                              .fc2_b = gradients["d_fc2_b"]};
  const TensorView d_outputs[] = {gradients["d_o_cmp"], gradients["d_o_sel"],
                                  gradients["d_o_win"]};  // by Branch
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    std::vector<Row> gates, branches, d_gates, d_branches;
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gates.push_back(gate(p, q, weights, token, g, options));
    for (const Branch branch : kBranchOrder)
      branches.push_back(options.on(branch) ? load_index(branch_output(branch, in), token) : Row{});
    combine_backward(p, gates, branches, load_index(d_o, token), d_gates, d_branches);
    for (std::size_t b = 0; b < 3; ++b)
      std::ranges::copy(d_branches[b], d_outputs[b].as<double>() + d_outputs[b].at(token));
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gate_backward({.problem = p,
                     .q = q,
                     .weights = weights,
                     .token = token,
                     .group = g,
                     .options = options},
                    d_gates[static_cast<std::size_t>(g)], d_weights, d_q);
  }
}

void project_rope(const Problem& p, const NamedTensors& in, Gradients& gradients,
                  const AttentionOptions& options) {
  const std::vector<Projection> parts = projections(p);
  std::vector<TensorView> d_parts;
  for (const TensorSpec& output : signature_of(Stage::project_rope).outputs)
    d_parts.push_back(in["d_" + std::string(output.name)]);
  const TensorView d_x = gradients["d_x"], d_w = gradients["d_w_qkv"];
  for_queries(p, [&](const Sequence& s, std::int64_t query) {
    const std::int64_t token = s.q_begin + query;
    const Row x = load_index(in["x"], token);
    Row d_row(x.size(), 0.0);
    for (std::size_t i = 0; i < parts.size(); ++i)
      project_token_backward(parts[i], in["w_qkv"], x, s.first_position() + query, options,
                             load_index(d_parts[i], token), d_w, d_row);
    std::ranges::copy(d_row, d_x.as<double>() + d_x.at(token));
  });
}

void out_proj(const Problem& p, const NamedTensors& in, Gradients& gradients) {
  const TensorView d_o = gradients["d_o"], d_w = gradients["d_w_o"];
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    const Row o = load_index(in["o"], token);
    Row d_row(o.size(), 0.0);
    linear_backward(in["w_o"], 0, o, load_index(in["d_y"], token), d_w, d_row);
    std::ranges::copy(d_row, d_o.as<double>() + d_o.at(token));
  }
}

}  // namespace

std::vector<Row> run_stage_backward(Stage stage, const Problem& p,
                                    std::span<const TensorView> inputs,
                                    const AttentionOptions& options) {
  const NamedTensors in = inputs_of(stage, inputs, Direction::backward);
  Gradients gradients(stage, p);
  if (stage == Stage::attend_selected) selected(p, in, gradients);
  if (stage == Stage::attend_window || stage == Stage::attend_compressed)
    band(stage, p, in, gradients);
  if (stage == Stage::compress) compress(p, in, gradients);
  if (stage == Stage::gate_combine) gate_combine(p, in, gradients, options);
  if (stage == Stage::project_rope) project_rope(p, in, gradients, options);
  if (stage == Stage::out_proj) out_proj(p, in, gradients);
  return gradients.take();
}

}  // namespace nsa::reference
