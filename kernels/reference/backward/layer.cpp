// Backward of one NSA layer: the stages of the forward pass in reverse.
#include "operands/named.hpp"
#include "reference/backward/backward.hpp"

namespace nsa::reference {
namespace {

/// What the forward pass computed, and the gradients of the same tensors.
struct LayerPass {
  const Problem& p;
  NamedTensors in;
  const AttentionOptions& options;
  LayerTrace trace;
  LayerGradients of_inputs;
  LayerTrace d;  // q, k, v, o of the branches; the rest stays empty
};

TensorView view_of(Row& data, std::int64_t heads, std::int64_t dim) {
  const auto rows = static_cast<std::int64_t>(data.size()) / (heads * dim);
  return make_view(data.data(), Dtype::fp64, {rows, heads, dim});
}

/// A gradient as a view of the shape of its input.
TensorView like(Row& data, const TensorView& input) {
  if (input.rank == 1) return make_view(data.data(), Dtype::fp64, {input.shape[0]});
  return make_view(data.data(), Dtype::fp64, {input.shape[0], input.shape[1]});
}

void set_to_zero(LayerPass& pass) {
  LayerGradients& d = pass.of_inputs;
  for (const auto& [name, gradient] :
       {std::pair{"x", &d.x}, std::pair{"w_qkv", &d.w_qkv}, std::pair{"fc1_w", &d.fc1_w},
        std::pair{"fc1_b", &d.fc1_b}, std::pair{"fc2_w", &d.fc2_w}, std::pair{"fc2_b", &d.fc2_b},
        std::pair{"w_o", &d.w_o}})
    gradient->assign(static_cast<std::size_t>(pass.in[name].elements()), 0.0);
  for (Row LayerTrace::*const tensor :
       {&LayerTrace::q, &LayerTrace::k_cmp_raw, &LayerTrace::v_cmp_raw, &LayerTrace::k_sel,
        &LayerTrace::v_sel, &LayerTrace::k_win, &LayerTrace::v_win, &LayerTrace::k_cmp,
        &LayerTrace::v_cmp, &LayerTrace::o_cmp, &LayerTrace::o_sel, &LayerTrace::o_win})
    (pass.d.*tensor).assign((pass.trace.*tensor).size(), 0.0);
}

Row part_of(const Row& all, std::int64_t index, std::int64_t width) {
  return {all.begin() + index * width, all.begin() + (index + 1) * width};
}

void mix_and_project(LayerPass& pass, const Row& d_y) {
  const Problem& p = pass.p;
  const GateWeights weights = gate_weights(pass.in);
  const TensorView& w_o = pass.in["w_o"];
  LayerGradients& d = pass.of_inputs;
  const GateWeights d_weights{like(d.fc1_w, weights.fc1_w), like(d.fc1_b, weights.fc1_b),
                              like(d.fc2_w, weights.fc2_w), like(d.fc2_b, weights.fc2_b)};
  const TensorView q = view_of(pass.trace.q, p.q_heads, p.head_dim_k);
  const TensorView d_q = view_of(pass.d.q, p.q_heads, p.head_dim_k);
  const std::int64_t width = p.q_heads * p.head_dim_v;
  const Row* const branches[] = {&pass.trace.o_cmp, &pass.trace.o_sel, &pass.trace.o_win};
  Row* const d_branches[] = {&pass.d.o_cmp, &pass.d.o_sel, &pass.d.o_win};
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    Row d_o(static_cast<std::size_t>(width), 0.0);
    linear_backward(w_o, 0, part_of(pass.trace.o, token, width),
                    part_of(d_y, token, p.model.model_dim), like(d.w_o, w_o), d_o);
    std::vector<Row> gates, parts, d_gates, d_parts;
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gates.push_back(part_of(pass.trace.gates, token * p.kv_heads + g, 3));
    for (const Row* branch : branches) parts.push_back(part_of(*branch, token, width));
    combine_backward(p, gates, parts, d_o, d_gates, d_parts);
    for (std::size_t branch = 0; branch < d_parts.size(); ++branch)
      std::copy(d_parts[branch].begin(), d_parts[branch].end(),
                d_branches[branch]->begin() + token * width);
    for (std::int64_t g = 0; g < p.kv_heads; ++g)
      gate_backward({.problem = p,
                     .q = q,
                     .weights = weights,
                     .token = token,
                     .group = g,
                     .options = pass.options},
                    d_gates[static_cast<std::size_t>(g)], d_weights, d_q);
  }
}

/// One branch of one query head.
struct BranchRows {
  Row &k, &v, &d_k, &d_v;
  const Row& d_o;
  std::vector<std::int64_t> rows;
};

void attend_one(LayerPass& pass, std::int64_t token, std::int64_t head, BranchRows branch) {
  const Problem& p = pass.p;
  const auto views = [&](Row& k, Row& v) {
    return KvTensors{.k = view_of(k, p.kv_heads, p.head_dim_k),
                     .v = view_of(v, p.kv_heads, p.head_dim_v)};
  };
  const std::int64_t row = token * p.q_heads + head;
  Row d_q(static_cast<std::size_t>(p.head_dim_k), 0.0);
  attend_backward({.q = part_of(pass.trace.q, row, p.head_dim_k),
                   .kv = views(branch.k, branch.v),
                   .rows = branch.rows,
                   .head = head / p.heads_per_group(),
                   .d_o = part_of(branch.d_o, row, p.head_dim_v)},
                  d_q, views(branch.d_k, branch.d_v));
  for (std::size_t i = 0; i < d_q.size(); ++i)
    pass.d.q[static_cast<std::size_t>(row * p.head_dim_k) + i] += d_q[i];
}

void attend_all(LayerPass& pass) {
  const Problem& p = pass.p;
  LayerTrace &f = pass.trace, &d = pass.d;
  const auto width = static_cast<std::size_t>(2 * p.geometry.sel_count);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t t = 0; t < s.q_len; ++t) {
      for (std::int64_t head = 0; head < p.q_heads; ++head) {
        const std::int64_t token = s.q_begin + t;
        const auto row = static_cast<std::size_t>(token * p.kv_heads + head / p.heads_per_group());
        const auto ranges = std::span(f.ranges).subspan(row * width, width);
        attend_one(
            pass, token, head,
            {f.k_cmp, f.v_cmp, d.k_cmp, d.v_cmp, d.o_cmp, compressed_rows(s, t, p.geometry)});
        attend_one(pass, token, head,
                   {f.k_sel, f.v_sel, d.k_sel, d.v_sel, d.o_sel, selected_rows(s, ranges)});
        attend_one(pass, token, head,
                   {f.k_win, f.v_win, d.k_win, d.v_win, d.o_win, window_rows(s, t, p.geometry)});
      }
    }
  }
}

void compress(LayerPass& pass) {
  const Problem& p = pass.p;
  const TensorView d_k = view_of(pass.d.k_cmp_raw, p.kv_heads, p.head_dim_k);
  const TensorView d_v = view_of(pass.d.v_cmp_raw, p.kv_heads, p.head_dim_v);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t i = 0; i < s.cmp_len; ++i) {
      const std::int64_t first = s.kv_begin + i * p.geometry.cmp_stride;
      for (std::int64_t g = 0; g < p.kv_heads; ++g) {
        const std::int64_t row = (s.cmp_begin + i) * p.kv_heads + g;
        pool_backward(part_of(pass.d.k_cmp, row, p.head_dim_k), first, g, p.geometry, d_k);
        pool_backward(part_of(pass.d.v_cmp, row, p.head_dim_v), first, g, p.geometry, d_v);
      }
    }
  }
}

void project(LayerPass& pass) {
  LayerTrace& d = pass.d;
  const Row* const outputs[] = {&d.q,     &d.k_cmp_raw, &d.v_cmp_raw, &d.k_sel,
                                &d.v_sel, &d.k_win,     &d.v_win};
  const TensorView &x = pass.in["x"], &w_qkv = pass.in["w_qkv"];
  const TensorView d_w_qkv = like(pass.of_inputs.w_qkv, w_qkv);
  const auto parts = projections(pass.p);
  for (const Sequence& s : sequences_of(pass.p)) {
    for (std::int64_t i = 0; i < s.q_len; ++i) {
      const std::int64_t token = s.q_begin + i;
      Row d_x(static_cast<std::size_t>(x.shape[1]), 0.0);
      for (std::size_t part = 0; part < parts.size(); ++part) {
        project_token_backward(parts[part], w_qkv, load_index(x, token), i, pass.options,
                               part_of(*outputs[part], token, parts[part].heads * parts[part].dim),
                               d_w_qkv, d_x);
      }
      std::copy(d_x.begin(), d_x.end(), pass.of_inputs.x.begin() + token * x.shape[1]);
    }
  }
}

}  // namespace

LayerGradients run_layer_backward(const Problem& problem, std::span<const TensorView> inputs,
                                  LayerTrace trace, const Row& d_y,
                                  const AttentionOptions& options) {
  LayerPass pass{.p = problem,
                 .in = inputs_of(Stage::layer, inputs),
                 .options = options,
                 .trace = std::move(trace),
                 .of_inputs = {},
                 .d = {}};
  set_to_zero(pass);
  mix_and_project(pass, d_y);
  attend_all(pass);
  compress(pass);
  project(pass);
  return std::move(pass.of_inputs);
}

}  // namespace nsa::reference
