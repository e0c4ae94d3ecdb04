#include "dense.hpp"

#include <algorithm>

#include "operands/attend.hpp"
#include "ops.hpp"

namespace nsa {

void dense_attention(const Context& context, const Problem& p, const AttentionTensors& t) {
  const StageScope scope(context.observer, Stage::attention, "dense", p.max_seq_len(),
                         context.stream);
  const WorkspaceScope scratch(*context.workspace);
  const std::vector<Sequence> sequences = sequences_of(p);
  dense_rows(context, p, place_sequences(context, sequences), t.q, t.sel, t.o);
}

/// Dense attention is window attention whose window reaches back to the first token, so it runs the
/// window stage's rows and no code of its own.
void dense_rows(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                const TensorView& q, const KvTensors& kv, const TensorView& o) {
  const Problem dense = dense_problem(problem);
  run_stage(context, Stage::attend_window, dense, sequences, BandTensors{.q = q, .kv = kv, .o = o});
}

Problem dense_problem(const Problem& problem) {
  Problem dense = problem;
  dense.geometry.window = std::max<std::int64_t>(problem.max_kv_len(), 1);
  return dense;
}

void no_blocks(const Context& context, const TensorView& blocks) {
  ops_of(context).fill(context, blocks, std::byte{0xFF});  // all bits set: -1
}

}  // namespace nsa
