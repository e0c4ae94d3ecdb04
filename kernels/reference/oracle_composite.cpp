// Rows of the composites. Selection is a choice: where scores tie within rounding, several choices
// are right, and each gives another output.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "cpu/convert.hpp"
#include "cpu/parallel.hpp"
#include "reference/forced_blocks.hpp"
#include "reference/oracle_rows.hpp"

namespace nsa::reference {
namespace {

constexpr std::size_t kMostSelections = 512;

/// A tensor of the problem's dtype whose rows are rounded as a stage would store them.
template <class RowOf>
HostTensor stored(const Problem& p, std::string name, std::int64_t rows, std::int64_t heads,
                  std::int64_t dim, RowOf row_of) {
  HostTensor tensor{std::move(name), {p.dtype, 3, {rows, heads, dim, 0}}, {}};
  tensor.bytes.resize(static_cast<std::size_t>(rows * heads * dim) * size_of(p.dtype));
  const TensorView view = tensor.view();
  parallel_for(0, rows, 8, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) {
      const Row row = row_of(r);
      store_row(view, view.at(r), heads * dim, row.data());
    }
  });
  return tensor;
}

/// The selected branch of one head, a block at a time: hundreds of selections that differ in a few
/// blocks cost little more than one.
class BlockAttention {
 public:
  BlockAttention(const Problem& p, const AttentionOperands& x, const Query& query,
                 std::int64_t group, const Row& q)
      : p_(p), x_(x), query_(query), group_(group), q_(q) {}

  Row over(const std::vector<std::int32_t>& blocks) {
    const std::set<std::int32_t> distinct(blocks.begin(), blocks.end());
    double largest = -HUGE_VAL;
    bool any = false;  // a key, be its logit a NaN
    for (const std::int32_t block : distinct) {
      any |= of(block).lse != -HUGE_VAL;
      largest = std::max(largest, of(block).lse);
    }
    Row o(static_cast<std::size_t>(x_.v_sel.shape[2]), 0.0);
    if (!any) return o;
    double sum = 0;
    for (const std::int32_t block : distinct) {
      const Part& part = of(block);
      const double weight = std::exp(part.lse - largest);
      sum += weight;
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * part.o[c];
    }
    for (double& value : o) value /= sum;
    return o;
  }

 private:
  struct Part {
    Row o;
    double lse = -HUGE_VAL;  // of the logits; where a block has no visible key, it has no weight
  };

  const Part& of(std::int32_t block) {
    const auto [at, fresh] = parts_.try_emplace(block);
    if (!fresh) return at->second;
    Geometry one = p_.geometry;
    one.sel_count = 1;
    std::array<std::int32_t, 2> range{};
    const Sequence& s = *query_.sequence;
    blocks_to_ranges(one, query_.position, num_blocks(s.kv_len, one), &block, range.data());
    at->second.o = attend(q_, x_.k_sel, x_.v_sel, selected_rows(s, range), group_, &at->second.lse);
    return at->second;
  }

  const Problem& p_;
  const AttentionOperands& x_;
  const Query& query_;
  std::int64_t group_;
  const Row& q_;
  std::map<std::int32_t, Part> parts_;
};

double finite_score(double score) { return std::isnan(score) ? -HUGE_VAL : score; }

}  // namespace

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
                               const Constants& constants) {
  std::vector<HostTensor> made;
  if (stage != Stage::attention && stage != Stage::layer) return made;
  const auto sequences = sequences_of(p);
  TensorView k = stage == Stage::attention ? inputs[1] : TensorView{};
  TensorView v = stage == Stage::attention ? inputs[2] : TensorView{};
  if (stage == Stage::layer) {
    expects(p.max_context() == 0, "a layer without cached tokens: it takes no cache");
    const auto parts = projections(p);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto row = [&](std::int64_t r) {
        return stage_row(Stage::project_rope, p, sequences, inputs, constants, i, r);
      };
      made.push_back(stored(p, "", p.total_tokens(), parts[i].heads, parts[i].dim, row));
    }
    k = made[1].view();
    v = made[2].view();
  }
  const TensorView raw[] = {k, v};
  const std::int64_t rows = sequences.back().cmp_begin + sequences.back().cmp_len;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto row = [&](std::int64_t r) {
      return stage_row(Stage::compress, p, sequences, raw, constants, i, r);
    };
    made.push_back(stored(p, "", rows, p.kv_heads, i == 0 ? p.head_dim_k : p.head_dim_v, row));
  }
  return made;
}

std::vector<Row> attention_parts(const Problem& p, const AttentionOperands& x, const Query& query,
                                 std::int64_t group, const Constants& constants,
                                 std::span<const std::vector<std::int32_t>> selections) {
  const Sequence& s = *query.sequence;
  const auto cmp = compressed_rows(s, query.position, p.geometry);
  const auto win = window_rows(s, query.position, p.geometry);
  const Row weight = gate(p, x.q, x.gate, query.token, group, constants);
  std::vector<Row> parts(selections.size());
  for (std::int64_t i = 0; i < p.heads_per_group(); ++i) {
    const Row q = load_head(x.q, query.token, group * p.heads_per_group() + i);
    const Row o_cmp = attend(q, x.k_cmp, x.v_cmp, cmp, group);
    const Row o_win = attend(q, x.k_win, x.v_win, win, group);
    BlockAttention by_block(p, x, query, group, q);
    for (std::size_t n = 0; n < parts.size(); ++n) {
      const Row o_sel = by_block.over(selections[n]);
      for (std::size_t c = 0; c < o_cmp.size(); ++c) {
        parts[n].push_back(weight[0] * o_cmp[c] + weight[1] * o_sel[c] + weight[2] * o_win[c]);
      }
    }
  }
  return parts;
}

std::vector<std::vector<std::int32_t>> right_selections(const Row& scores, std::int64_t position,
                                                        const Geometry& g, double tolerance) {
  std::vector<std::vector<std::int32_t>> right{top_blocks(scores, position, g)};
  const ForcedBlocks forced = forced_blocks(position, g);
  std::vector<std::int64_t> picked, left, sure;
  const auto score = [&](std::int64_t j) {
    return finite_score(scores[static_cast<std::size_t>(j)]);
  };
  for (std::int64_t j = 0; (j + 1) * g.sel_block <= position + 1; ++j) {
    if (forced.contains(j)) continue;
    const bool in = std::binary_search(right[0].begin(), right[0].end(), j);
    (in ? picked : left).push_back(j);
  }
  if (picked.empty() || left.empty()) return right;
  const auto by_score = [&](std::int64_t a, std::int64_t b) { return score(a) < score(b); };
  const double worst_in = score(*std::min_element(picked.begin(), picked.end(), by_score));
  const double best_out = score(*std::max_element(left.begin(), left.end(), by_score));
  const double slack = tolerance * std::abs(best_out);
  if (tolerance < 0 || !(worst_in - best_out <= slack)) return right;
  std::vector<std::int64_t> zone;  // these may change places
  for (const std::int64_t j : picked) (score(j) <= best_out + slack ? zone : sure).push_back(j);
  const std::size_t choose = zone.size();
  for (const std::int64_t j : left) {
    if (score(j) >= worst_in - slack) zone.push_back(j);
  }
  std::vector<bool> chosen(zone.size(), false);
  std::fill_n(chosen.begin(), choose, true);  // the first choice is the one already there
  while (std::prev_permutation(chosen.begin(), chosen.end()) && right.size() < kMostSelections) {
    std::vector<std::int32_t> row(forced.ids.begin(), forced.ids.begin() + forced.count);
    row.insert(row.end(), sure.begin(), sure.end());
    for (std::size_t i = 0; i < zone.size(); ++i) {
      if (chosen[i]) row.push_back(static_cast<std::int32_t>(zone[i]));
    }
    std::sort(row.begin(), row.end());
    right.push_back(std::move(row));
  }
  return right;
}

}  // namespace nsa::reference
