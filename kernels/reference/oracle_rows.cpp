#include "reference/oracle_rows.hpp"

#include "nsa/kernels/parallel.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::reference {
namespace {

/// Fewer threads than that keep a row's heads waiting.
constexpr std::int64_t kThreadsPerRow = 4;

void append(Row& all, const Row& part) { all.insert(all.end(), part.begin(), part.end()); }

std::span<const std::int32_t> int_row(const TensorView& tensor, std::int64_t token,
                                      std::int64_t head, std::int64_t count) {
  return {tensor.as<const std::int32_t>() + tensor.at(token, head),
          static_cast<std::size_t>(count)};
}

Row pooled_row(const Problem& p, std::span<const Sequence> sequences, const TensorView& raw,
               std::int64_t row) {
  for (const Sequence& s : sequences) {
    if (row >= s.cmp_begin + s.cmp_len) continue;
    Row all;
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      const std::int64_t first = s.kv_begin + (row - s.cmp_begin) * p.geometry.cmp_stride;
      append(all, pool(raw, first, g, p.geometry));
    }
    return all;
  }
  throw ContractError("expected: a compressed token of the problem");
}

Row range_row(const Problem& p, const Query& query, const TensorView& blocks) {
  const std::int64_t n = p.geometry.sel_count;
  const std::int64_t in_all = num_blocks(query.sequence->kv_len, p.geometry);
  std::vector<std::int32_t> ranges(static_cast<std::size_t>(2 * n));
  Row all;
  for (std::int64_t g = 0; g < p.kv_heads; ++g) {
    blocks_to_ranges(p.geometry, query.position, in_all, int_row(blocks, query.token, g, n).data(),
                     ranges.data());
    all.insert(all.end(), ranges.begin(), ranges.end());
  }
  return all;
}

/// Rows of the keys that a query sees, as the heads of group `g` do.
std::vector<std::int64_t> seen_by(Stage stage, const Problem& p, const Query& query, std::int64_t g,
                                  const NamedTensors& in) {
  if (stage == Stage::attend_compressed)
    return compressed_rows(*query.sequence, query.position, p.geometry);
  if (stage == Stage::attend_window)
    return window_rows(*query.sequence, query.position, p.geometry);
  const std::int64_t width = 2 * p.geometry.sel_count;
  return selected_rows(*query.sequence, int_row(in["ranges"], query.token, g, width));
}

/// The outputs of all heads, or their log-sum-exps.
Row attend_row(Stage stage, const Problem& p, const Query& query, const NamedTensors& in,
               bool saved) {
  const TensorView &q = in["q"], &k = in[of_branch("k", stage)], &v = in[of_branch("v", stage)];
  std::vector<Row> heads(static_cast<std::size_t>(p.q_heads));
  parallel_for(0, p.q_heads, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t head = from; head < to; ++head) {
      const std::int64_t g = head / p.heads_per_group();
      double lse = 0;
      Row o =
          attend(load_head(q, query.token, head), k, v, seen_by(stage, p, query, g, in), g, &lse);
      heads[static_cast<std::size_t>(head)] = saved ? Row{lse} : std::move(o);
    }
  });
  Row all;
  for (const Row& head : heads) append(all, head);
  return all;
}

/// The gates of each group.
std::vector<Row> gates_of(const Problem& p, std::int64_t token, const NamedTensors& in,
                          const AttentionOptions& options) {
  const GateWeights weights = gate_weights(in);
  std::vector<Row> gates;
  for (std::int64_t g = 0; g < p.kv_heads; ++g)
    gates.push_back(gate(p, in["q"], weights, token, g, options));
  return gates;
}

Row gates_row(const Problem& p, std::int64_t token, const NamedTensors& in,
              const AttentionOptions& options) {
  Row all;
  for (const Row& gates : gates_of(p, token, in, options)) append(all, gates);
  return all;
}

Row gated_row(const Problem& p, std::int64_t token, const NamedTensors& in,
              const AttentionOptions& options) {
  std::vector<Row> branches;
  for (const Branch branch : kBranchOrder)
    branches.push_back(options.on(branch) ? load_index(branch_output(branch, in), token) : Row{});
  return combine(p, gates_of(p, token, in, options), branches);
}

}  // namespace

Query find_query(std::span<const Sequence> sequences, std::int64_t token) {
  for (const Sequence& s : sequences) {
    if (token < s.q_begin + s.q_len) {
      const std::int64_t index = token - s.q_begin;
      return {&s, index, token, s.first_position() + index};
    }
  }
  throw ContractError("expected: a token of the problem");
}

void parallel_rows(std::int64_t rows, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (rows * kThreadsPerRow <= parallel_threads()) return body(0, rows);
  parallel_for(0, rows, 1, body);
}

Row stage_row(Stage stage, const Problem& p, std::span<const Sequence> sequences,
              const NamedTensors& in, const AttentionOptions& options, std::size_t output,
              std::int64_t row) {
  if (stage == Stage::compress)
    return pooled_row(p, sequences, in[output == 0 ? "k_cmp_raw" : "v_cmp_raw"], row);
  const Query query = find_query(sequences, row);
  switch (stage) {
    case Stage::project_rope:
      return project_token(projections(p)[output], in["w_qkv"], load_index(in["x"], row),
                           query.position, options);
    case Stage::ranges:
      return range_row(p, query, in["blocks"]);
    case Stage::attend_compressed:
    case Stage::attend_selected:
    case Stage::attend_window:
      return attend_row(stage, p, query, in, output > 0);
    case Stage::gate_combine:
      return output > 0 ? gates_row(p, row, in, options) : gated_row(p, row, in, options);
    case Stage::out_proj:
      return linear(in["w_o"], 0, p.model.model_dim, load_index(in["o"], row));
    default:
      throw ContractError("expected: a single stage");
  }
}

}  // namespace nsa::reference
