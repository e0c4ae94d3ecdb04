// Rows of the composites. Selection is a choice: where scores tie within rounding, several choices
// are right, and each gives another output: that of the blocks which the row says it took.
#include <algorithm>

#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa::reference {
namespace {

/// A tensor of the problem's dtype whose rows are rounded as a stage would store them.
template <class RowOf>
HostTensor stored(const Problem& p, std::string name, std::int64_t rows, std::int64_t heads,
                  std::int64_t dim, RowOf row_of) {
  HostTensor tensor{std::move(name), {p.dtype, 3, {rows, heads, dim, 0}}, {}};
  tensor.make_room();
  const TensorView view = tensor.view();
  parallel_for(0, rows, 8, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) {
      const Row row = row_of(r);
      store_row(view, view.at(r), heads * dim, row.data());
    }
  });
  return tensor;
}

/// A matrix in fp64, which holds every value of it: each of its rows is read once per token.
HostTensor exact(const TensorView& matrix) {
  const std::int64_t rows = matrix.shape[0], width = matrix.shape[1];
  HostTensor copy{"", {Dtype::fp64, 2, {rows, width}}, {}};
  copy.make_room();
  const TensorView view = copy.view();
  for (std::int64_t r = 0; r < rows; ++r)
    load_row(matrix, matrix.at(r), width, view.as<double>() + view.at(r));
  return copy;
}

/// The outputs of project_rope.
std::vector<HostTensor> project(const Problem& p, const NamedTensors& layer,
                                const AttentionOptions& options) {
  const auto sequences = sequences_of(p);
  const auto parts = projections(p);
  const auto outputs = signature_of(Stage::project_rope).outputs;
  const HostTensor w_qkv = exact(layer["w_qkv"]);
  const TensorView x_and_w[] = {layer["x"], w_qkv.view()};
  const NamedTensors in = inputs_of(Stage::project_rope, x_and_w);
  std::vector<HostTensor> made;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto row = [&](std::int64_t r) {
      return stage_row(Stage::project_rope, p, sequences, in, options, i, r);
    };
    made.push_back(stored(p, std::string(outputs[i].name), p.total_tokens(), parts[i].heads,
                          parts[i].dim, row));
  }
  return made;
}

/// k_cmp and v_cmp.
std::vector<HostTensor> compress(const Problem& p, const KvTensors& raw,
                                 const AttentionOptions& options) {
  const auto sequences = sequences_of(p);
  const std::int64_t rows = sequences.back().cmp_begin + sequences.back().cmp_len;
  const TensorView k_and_v[] = {raw.k, raw.v};
  const NamedTensors in = inputs_of(Stage::compress, k_and_v);
  const auto pooled = [&](std::size_t output, std::int64_t dim) {
    const auto row = [&](std::int64_t r) {
      return stage_row(Stage::compress, p, sequences, in, options, output, r);
    };
    return stored(p, output == 0 ? "k_cmp" : "v_cmp", rows, p.kv_heads, dim, row);
  };
  std::vector<HostTensor> made;
  made.push_back(pooled(0, p.head_dim_k));
  made.push_back(pooled(1, p.head_dim_v));
  return made;
}

}  // namespace

const HostTensor* named(std::span<const HostTensor> tensors, std::string_view name) noexcept {
  const auto found = std::ranges::find(tensors, name, &HostTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

double tie_tolerance(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::fp64:
      return 1e-12;
    case Dtype::bf16:
      return 0x1p-7;
    case Dtype::fp16:
      return 0x1p-10;
    default:
      return 1e-5;
  }
}

std::vector<HostTensor> derive(Stage stage, const Problem& p, std::span<const TensorView> inputs,
                               const AttentionOptions& options) {
  if (stage == Stage::attention) {
    const NamedTensors in = inputs_of(stage, inputs);
    return compress(p, {.k = in["k_cmp_raw"], .v = in["v_cmp_raw"]}, options);
  }
  if (stage != Stage::layer) return {};
  expects(p.max_context() == 0, "a layer without cached tokens: it takes no cache");
  std::vector<HostTensor> made = project(p, inputs_of(stage, inputs), options);
  const KvTensors raw{.k = named(made, "k_cmp_raw")->view(), .v = named(made, "v_cmp_raw")->view()};
  for (HostTensor& pooled : compress(p, raw, options)) made.push_back(std::move(pooled));
  return made;
}

Row attention_part(const Problem& p, const AttentionOperands& x, const Query& query,
                   std::int64_t group, const AttentionOptions& options,
                   const std::vector<std::int32_t>& blocks) {
  const Sequence& s = *query.sequence;
  std::vector<std::int32_t> ranges(2 * blocks.size());
  blocks_to_ranges(p.geometry, query.position, num_blocks(s.kv_len, p.geometry), blocks.data(),
                   ranges.data());
  const auto cmp = compressed_rows(s, query.position, p.geometry);
  const auto sel = selected_rows(s, ranges);
  const auto win = window_rows(s, query.position, p.geometry);
  const Row weight = gate(p, x.q, x.gate, query.token, group, options);
  const auto dv = static_cast<std::size_t>(p.head_dim_v);
  Row part(static_cast<std::size_t>(p.heads_per_group()) * dv);
  parallel_for(0, p.heads_per_group(), 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const Row q = load_head(x.q, query.token, group * p.heads_per_group() + i);
      const Row o_cmp = attend(q, x.k_cmp, x.v_cmp, cmp, group);
      const Row o_sel = attend(q, x.k_sel, x.v_sel, sel, group);
      const Row o_win = attend(q, x.k_win, x.v_win, win, group);
      double* o = part.data() + static_cast<std::size_t>(i) * dv;
      for (std::size_t c = 0; c < dv; ++c)
        o[c] = weight[0] * o_cmp[c] + weight[1] * o_sel[c] + weight[2] * o_win[c];
    }
  });
  return part;
}

}  // namespace nsa::reference
