#include "nsa/kernels/launch.hpp"

namespace nsa {

std::vector<Sequence> sequences_of(const Problem& problem) {
  std::vector<Sequence> sequences;
  sequences.reserve(problem.seq_lens.size());
  Sequence next;
  for (std::size_t b = 0; b < problem.seq_lens.size(); ++b) {
    next.q_len = problem.seq_lens[b];
    next.kv_len = problem.context_lens[b] + problem.seq_lens[b];
    next.cmp_len = num_compressed(next.kv_len, problem.geometry);
    sequences.push_back(next);
    next.q_begin += next.q_len;
    next.kv_begin += next.kv_len;
    next.cmp_begin += next.cmp_len;
  }
  return sequences;
}

}  // namespace nsa
