// Compressed keys and values: block i is the mean of tokens [i d, i d + l).
#include "reference/reference.hpp"

namespace nsa::reference {

Row pool(const TensorView& raw, std::int64_t first, std::int64_t head, const Geometry& g) {
  Row mean(static_cast<std::size_t>(raw.shape[2]), 0.0);
  for (std::int64_t token = first; token < first + g.cmp_block; ++token) {
    const Row row = load_head(raw, token, head);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i];
  }
  for (double& x : mean) x /= static_cast<double>(g.cmp_block);
  return mean;
}

}  // namespace nsa::reference
