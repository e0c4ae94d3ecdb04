// Which blocks a query selects: attention to compressed keys, mapped to selection blocks, summed
// over the heads of the group, best n.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"
#include "reference/forced_blocks.hpp"
#include "reference/reference.hpp"

namespace nsa::reference {
namespace {

void softmax(Row& x) {
  const double largest = x.empty() ? 0.0 : *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& value : x) sum += value = std::exp(value - largest);
  for (double& value : x) value /= sum;
}

}  // namespace

Row compressed_probabilities(const Row& q, const TensorView& k_cmp, std::int64_t first,
                             std::int64_t visible, std::int64_t head) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size()));
  Row p, k(q.size());
  for (std::int64_t i = 0; i < visible; ++i) {
    load_row(k_cmp, k_cmp.at(first + i, head), k_cmp.shape[2], k.data());
    p.push_back(scale * std::inner_product(q.begin(), q.end(), k.begin(), 0.0));
  }
  softmax(p);
  return p;
}

Row block_scores(const Row& p_cmp, std::int64_t blocks, const Geometry& g) {
  Row scores(static_cast<std::size_t>(blocks), 0.0);
  for (std::size_t i = 0; i < p_cmp.size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * g.cmp_stride;
    const std::int64_t end = begin + g.cmp_block;
    for (std::int64_t j = begin / g.sel_block; j * g.sel_block < end; ++j) {
      const std::int64_t overlap =
          std::min(end, (j + 1) * g.sel_block) - std::max(begin, j * g.sel_block);
      scores[static_cast<std::size_t>(j)] +=
          p_cmp[i] * static_cast<double>(overlap) / static_cast<double>(g.cmp_block);
    }
  }
  return scores;
}

Row group_scores(const Problem& problem, const Sequence& sequence, const TensorView& q,
                 const TensorView& k_cmp, std::int64_t query, std::int64_t group) {
  const std::int64_t position = sequence.first_position() + query;
  const std::int64_t visible = num_compressed(position + 1, problem.geometry);
  const std::int64_t blocks = num_blocks(sequence.kv_len, problem.geometry);
  std::vector<Row> p_slc(static_cast<std::size_t>(problem.heads_per_group()));
  parallel_for(0, problem.heads_per_group(), 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t head = group * problem.heads_per_group() + i;
      const Row p_cmp = compressed_probabilities(load_head(q, sequence.q_begin + query, head),
                                                 k_cmp, sequence.cmp_begin, visible, group);
      p_slc[static_cast<std::size_t>(i)] = block_scores(p_cmp, blocks, problem.geometry);
    }
  });
  Row sum(static_cast<std::size_t>(blocks), 0.0);
  for (const Row& head : p_slc) {
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += head[j];
  }
  return sum;
}

std::vector<std::int32_t> top_blocks(const Row& scores, std::int64_t position, const Geometry& g) {
  const ForcedBlocks forced = forced_blocks(position, g);
  std::vector<std::int64_t> candidates;  // complete blocks that are not forced anyway
  for (std::int64_t j = 0; (j + 1) * g.sel_block <= position + 1; ++j) {
    if (!forced.contains(j)) candidates.push_back(j);
  }
  const auto value = [&](std::int64_t j) {
    const double score = scores[static_cast<std::size_t>(j)];
    return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::int64_t a, std::int64_t b) { return value(a) > value(b); });
  const auto room = static_cast<std::size_t>(g.sel_count - forced.count);
  candidates.resize(std::min(candidates.size(), room));
  candidates.insert(candidates.end(), forced.ids.begin(), forced.ids.begin() + forced.count);
  std::sort(candidates.begin(), candidates.end());
  std::vector<std::int32_t> row(static_cast<std::size_t>(g.sel_count) - candidates.size(), -1);
  row.insert(row.end(), candidates.begin(), candidates.end());
  return row;
}

}  // namespace nsa::reference
