// dense_prefix: while n l' covers all that is visible, the selected branch is dense causal
// attention, whose tiles share their keys; after that, fused_query. Exact.
#include "attend_selected/cpu/fused_query.hpp"
#include "cpu/band/band.hpp"

namespace nsa::cpu {
namespace {

/// Queries at the front of a sequence that selected every block up to their own. That n l' covers
/// them is not asked: what the blocks say is.
std::int64_t covered_queries(const Problem& p, const TensorView& blocks, const Sequence& s) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(p.geometry.sel_count));
  for (std::int64_t i = 0; i < s.q_len; ++i) {
    const std::int64_t t = s.first_position() + i;
    const std::int64_t visible = t / p.geometry.sel_block + 1;
    if (visible > p.geometry.sel_count) return i;
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      const std::int64_t count =
          row_blocks(blocks, s.q_begin + i, g, t, p.geometry.sel_block, row.data());
      if (count != visible) return i;
    }
  }
  return s.q_len;
}

/// The first `queries` new tokens of a sequence, and the others.
Sequence front(Sequence s, std::int64_t queries) {
  s.kv_len = s.first_position() + queries;
  s.q_len = queries;
  return s;
}
Sequence back(Sequence s, std::int64_t queries) {
  s.q_begin += queries;
  s.q_len -= queries;
  return s;
}

}  // namespace

void selected_dense_prefix(const LaunchArgs& args) {
  const SelectedTensors tensors = SelectedTensors::of(args);
  std::vector<Sequence> dense, sparse;
  for (const Sequence& s : args.sequences) {
    const std::int64_t queries = covered_queries(args.problem, tensors.blocks, s);
    if (queries > 0) dense.push_back(front(s, queries));
    if (queries < s.q_len) sparse.push_back(back(s, queries));
  }
  LaunchArgs part = args;
  part.sequences = dense;
  part.device_sequences = nullptr;
  if (!dense.empty()) {
    band_blocked(part, {BandKind::causal, args.problem.geometry},
                 {.q = tensors.q, .kv = tensors.kv, .o = tensors.o, .lse = tensors.lse},
                 Layout::varlen);
  }
  if (!sparse.empty()) fused_query(args, tensors, sparse);
}

std::int64_t selected_dense_prefix_bytes(const Problem& problem) {
  const std::int64_t most = problem.geometry.sel_count * problem.geometry.sel_block;
  std::vector<Sequence> dense;
  for (const Sequence& s : sequences_of(problem)) {
    const std::int64_t queries = std::clamp<std::int64_t>(most - s.first_position(), 0, s.q_len);
    if (queries > 0) dense.push_back(front(s, queries));
  }
  return band_blocked_bytes(problem, dense, {BandKind::causal, problem.geometry}, Layout::varlen) +
         fused_query_bytes_at_most(problem);
}

}  // namespace nsa::cpu
