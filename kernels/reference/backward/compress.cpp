// Backward of compression: blocks overlap, so a token adds up what all of its blocks say.
#include "reference/backward/backward.hpp"

namespace nsa::reference {

void pool_backward(const Row& d_mean, std::int64_t first, std::int64_t head, const Geometry& g,
                   const TensorView& d_raw) {
  for (std::int64_t token = first; token < first + g.cmp_block; ++token) {
    double* row = d_raw.as<double>() + d_raw.at(token, head);
    for (std::size_t i = 0; i < d_mean.size(); ++i)
      row[i] += d_mean[i] / static_cast<double>(g.cmp_block);
  }
}

}  // namespace nsa::reference
