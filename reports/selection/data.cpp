#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace nsa::selection {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Normal numbers that are the same with every standard library.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(seed) {}
  double operator()() {
    const double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
  }

 private:
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 bits_;
};

std::vector<Row> walk(Normal& normal, const StudyOptions& o) {
  const double fresh = std::sqrt(1 - o.alike * o.alike);
  Row row(at(o.dim));
  std::ranges::generate(row, std::ref(normal));
  std::vector<Row> rows;
  for (std::int64_t t = 0; t < o.tokens; ++t) {
    for (double& x : row) x = o.alike * x + fresh * normal();
    rows.push_back(row);
  }
  return rows;
}

Row scaled_mean(const std::vector<Row>& keys, std::int64_t first, const StudyOptions& o) {
  Row mean(at(o.dim));
  for (std::int64_t i = first; i < first + o.geometry.cmp_block; ++i) {
    for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += keys[at(i)][d];
  }
  const double square = std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0);
  const double size = std::sqrt(square / static_cast<double>(o.dim));
  for (double& x : mean) x *= size > 0 ? 2 / size : 0;
  return mean;
}

/// Adds the softmax of one head to the scores of the blocks that compressed keys lie in.
void add_head(const Row& query, const Data& data, const StudyOptions& o, std::int64_t visible,
              Row& scores) {
  const Geometry& g = o.geometry;
  Row weights(at(visible));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Row& key = data.compressed[i];
    weights[i] = std::inner_product(query.begin(), query.end(), key.begin(), 0.0) /
                 std::sqrt(static_cast<double>(o.dim));
  }
  const double top = *std::ranges::max_element(weights);
  for (double& weight : weights) weight = std::exp(weight - top);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::int64_t i = 0; i < visible; ++i) {
    const std::int64_t begin = i * g.cmp_stride, end = begin + g.cmp_block;
    for (std::int64_t block = begin / g.sel_block; block * g.sel_block < end; ++block) {
      if (block >= static_cast<std::int64_t>(scores.size())) break;
      const std::int64_t overlap =
          std::min(end, (block + 1) * g.sel_block) - std::max(begin, block * g.sel_block);
      scores[at(block)] +=
          weights[at(i)] / total * static_cast<double>(overlap) / static_cast<double>(g.cmp_block);
    }
  }
}

}  // namespace

Data made_up(const StudyOptions& o) {
  Normal normal(o.seed);
  Data data;
  for (std::int64_t head = 0; head < o.heads; ++head) data.queries.push_back(walk(normal, o));
  const std::vector<Row> keys = walk(normal, o);
  for (std::int64_t i = 0; i < num_compressed(o.tokens, o.geometry); ++i)
    data.compressed.push_back(scaled_mean(keys, i * o.geometry.cmp_stride, o));
  return data;
}

Row block_scores(const Data& data, const StudyOptions& o, std::int64_t query) {
  Row scores(at(query / o.geometry.sel_block + 1));
  const std::int64_t visible = num_compressed(query + 1, o.geometry);
  if (visible == 0) return scores;
  for (const std::vector<Row>& head : data.queries)
    add_head(head[at(query)], data, o, visible, scores);
  return scores;
}

}  // namespace nsa::selection
