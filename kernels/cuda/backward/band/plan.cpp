#include "cuda/backward/band/plan.hpp"

#include <algorithm>

namespace nsa::cuda {

std::int64_t band_backward_bytes(const Problem& p, Branch branch) {
  constexpr std::int64_t kAlignment = 256;  // of each of two tensors
  const std::int64_t sums = std::max(band_plan(p, branch, false).sum_numbers(p),
                                     band_plan(p, branch, true).sum_numbers(p));
  return 8 * p.total_tokens() * p.q_heads + 4 * sums + 2 * kAlignment;
}

}  // namespace nsa::cuda
