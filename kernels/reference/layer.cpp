// One NSA layer from its input to its output, with everything in between: the stages in order.
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/inputs.hpp"
#include "operands/named.hpp"
#include "reference/reference.hpp"

namespace nsa::reference {
namespace {

void append(Row& all, const Row& part) { all.insert(all.end(), part.begin(), part.end()); }

TensorView view_of(Row& data, std::int64_t heads, std::int64_t dim) {
  const auto rows = static_cast<std::int64_t>(data.size()) / (heads * dim);
  return make_view(data.data(), Dtype::fp64, {rows, heads, dim});
}

void project(LayerTrace& trace, const Problem& p, const TensorView& x, const TensorView& w_qkv,
             const AttentionOptions& options) {
  Row* const outputs[] = {&trace.q,     &trace.k_cmp_raw, &trace.v_cmp_raw, &trace.k_sel,
                          &trace.v_sel, &trace.k_win,     &trace.v_win};
  const auto parts = projections(p);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t i = 0; i < s.q_len; ++i) {
      const Row token = load_index(x, s.q_begin + i);
      for (std::size_t part = 0; part < parts.size(); ++part) {
        append(*outputs[part], project_token(parts[part], w_qkv, token, i, options));
      }
    }
  }
}

void compress(LayerTrace& trace, const Problem& p) {
  const TensorView k = view_of(trace.k_cmp_raw, p.kv_heads, p.head_dim_k);
  const TensorView v = view_of(trace.v_cmp_raw, p.kv_heads, p.head_dim_v);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t i = 0; i < s.cmp_len; ++i) {
      const std::int64_t first = s.kv_begin + i * p.geometry.cmp_stride;
      for (std::int64_t g = 0; g < p.kv_heads; ++g) {
        append(trace.k_cmp, pool(k, first, g, p.geometry));
        append(trace.v_cmp, pool(v, first, g, p.geometry));
      }
    }
  }
}

void select(LayerTrace& trace, const Problem& p) {
  const TensorView q = view_of(trace.q, p.q_heads, p.head_dim_k);
  const TensorView k_cmp = view_of(trace.k_cmp, p.kv_heads, p.head_dim_k);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t i = 0; i < s.q_len; ++i) {
      for (std::int64_t g = 0; g < p.kv_heads; ++g) {
        trace.p_grp.push_back(group_scores(p, s, q, k_cmp, i, g));
        const auto blocks = top_blocks(trace.p_grp.back(), i, p.geometry);
        std::vector<std::int32_t> ranges(2 * blocks.size());
        blocks_to_ranges(p.geometry, i, num_blocks(s.kv_len, p.geometry), blocks.data(),
                         ranges.data());
        trace.blocks.insert(trace.blocks.end(), blocks.begin(), blocks.end());
        trace.ranges.insert(trace.ranges.end(), ranges.begin(), ranges.end());
      }
    }
  }
}

void attend_all(LayerTrace& trace, const Problem& p) {
  const auto keys = [&](Row& k) { return view_of(k, p.kv_heads, p.head_dim_k); };
  const auto values = [&](Row& v) { return view_of(v, p.kv_heads, p.head_dim_v); };
  const TensorView q = view_of(trace.q, p.q_heads, p.head_dim_k);
  const auto width = static_cast<std::size_t>(2 * p.geometry.sel_count);
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t t = 0; t < s.q_len; ++t) {
      for (std::int64_t head = 0; head < p.q_heads; ++head) {
        const std::int64_t g = head / p.heads_per_group();
        const auto row = static_cast<std::size_t>((s.q_begin + t) * p.kv_heads + g);
        const auto ranges = std::span(trace.ranges).subspan(row * width, width);
        const Row one = load_head(q, s.q_begin + t, head);
        append(trace.o_cmp, attend(one, keys(trace.k_cmp), values(trace.v_cmp),
                                   compressed_rows(s, t, p.geometry), g));
        append(trace.o_sel,
               attend(one, keys(trace.k_sel), values(trace.v_sel), selected_rows(s, ranges), g));
        append(trace.o_win, attend(one, keys(trace.k_win), values(trace.v_win),
                                   window_rows(s, t, p.geometry), g));
      }
    }
  }
}

void mix_and_project(LayerTrace& trace, const Problem& p, const NamedTensors& in,
                     const AttentionOptions& options) {
  const GateWeights weights = gate_weights(in);
  const TensorView q = view_of(trace.q, p.q_heads, p.head_dim_k);
  const Row* const branches[] = {&trace.o_cmp, &trace.o_sel, &trace.o_win};
  for (std::int64_t token = 0; token < p.total_tokens(); ++token) {
    std::vector<Row> gates, parts;
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      gates.push_back(gate(p, q, weights, token, g, options));
      append(trace.gates, gates.back());
    }
    const std::int64_t width = p.q_heads * p.head_dim_v;
    for (const Row* branch : branches) {
      const auto begin = branch->begin() + token * width;
      parts.emplace_back(begin, begin + width);
    }
    const Row o = combine(p, gates, parts);
    append(trace.o, o);
    append(trace.y, linear(in["w_o"], 0, p.model.model_dim, o));
  }
}

}  // namespace

LayerTrace run_layer(const Problem& problem, std::span<const TensorView> inputs,
                     const AttentionOptions& options) {
  expects(problem.max_context() == 0, "a layer without cached tokens");
  const NamedTensors in = inputs_of(Stage::layer, inputs);
  LayerTrace trace;
  project(trace, problem, in["x"], in["w_qkv"], options);
  compress(trace, problem);
  select(trace, problem);
  attend_all(trace, problem);
  mix_and_project(trace, problem, in, options);
  return trace;
}

}  // namespace nsa::reference
