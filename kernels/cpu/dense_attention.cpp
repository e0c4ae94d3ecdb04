#include "cpu/dense_attention.hpp"

#include "cpu/band/band.hpp"

namespace nsa::cpu {

void dense_attention(const LaunchArgs& args, const TensorView& q, const TensorView& k,
                     const TensorView& v, const TensorView& out, const TensorView& lse) {
  band_blocked(args, {BandKind::causal, args.problem.geometry}, {q, k, v, out, lse},
               Layout::varlen);
}

std::int64_t dense_attention_bytes(const Problem& problem) {
  return band_blocked_bytes(problem, sequences_of(problem), {BandKind::causal, problem.geometry},
                            Layout::varlen);
}

}  // namespace nsa::cpu
