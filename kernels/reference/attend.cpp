// The attention of every branch: a full softmax over the keys that the branch lets a query see.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/convert.hpp"
#include "reference/reference.hpp"

namespace nsa::reference {
namespace {

std::vector<std::int64_t> count_up(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

}  // namespace

std::vector<std::int64_t> compressed_rows(const Sequence& s, std::int64_t t, const Geometry& g) {
  return count_up(s.cmp_begin, num_compressed(t + 1, g));
}

std::vector<std::int64_t> window_rows(const Sequence& s, std::int64_t t, const Geometry& g) {
  const std::int64_t first = std::max<std::int64_t>(0, t - g.window + 1);
  return count_up(s.kv_begin + first, g.window <= 0 ? 0 : t + 1 - first);
}

std::vector<std::int64_t> selected_rows(const Sequence& s, std::span<const std::int32_t> ranges) {
  std::vector<std::int64_t> rows;
  for (std::size_t r = 0; r + 1 < ranges.size(); r += 2) {
    const auto part = count_up(s.kv_begin + ranges[r], ranges[r + 1] - ranges[r]);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Row attend(const Row& q, const TensorView& k, const TensorView& v,
           std::span<const std::int64_t> rows, std::int64_t head, double* lse) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size()));
  Row logits, key(q.size());
  for (const std::int64_t row : rows) {
    load_row(k, k.at(row, head), k.shape[2], key.data());
    logits.push_back(scale * std::inner_product(q.begin(), q.end(), key.begin(), 0.0));
  }
  Row o(static_cast<std::size_t>(v.shape[2]), 0.0);
  if (lse) *lse = -std::numeric_limits<double>::infinity();
  if (rows.empty()) return o;
  const double largest = *std::max_element(logits.begin(), logits.end());
  Row value(o.size());
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double weight = std::exp(logits[i] - largest);
    load_row(v, v.at(rows[i], head), v.shape[2], value.data());
    sum += weight;
    for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * value[c];
  }
  for (double& x : o) x /= sum;
  if (lse) *lse = largest + std::log(sum);
  return o;
}

}  // namespace nsa::reference
