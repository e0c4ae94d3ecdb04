#include "cuda/backward/band_plan.hpp"

namespace nsa::cuda {

std::int64_t band_backward_bytes(const Problem& p, Branch branch) {
  constexpr std::int64_t kAlignment = 256;  // of each of two tensors
  return 8 * p.total_tokens() * p.q_heads + 4 * BandPlan(p, branch).sum_numbers(p) + 2 * kAlignment;
}

}  // namespace nsa::cuda
