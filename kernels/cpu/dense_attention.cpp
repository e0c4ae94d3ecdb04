#include "cpu/dense_attention.hpp"

#include "cpu/band/band.hpp"

namespace nsa::cpu {

void dense_attention(const LaunchArgs& args, const BandTensors& tensors) {
  band_blocked(args, {BandKind::causal, args.problem.geometry}, tensors, Layout::varlen);
}

std::int64_t dense_attention_bytes(const Problem& problem) {
  return band_blocked_bytes(problem, sequences_of(problem), {BandKind::causal, problem.geometry},
                            Layout::varlen);
}

}  // namespace nsa::cpu
