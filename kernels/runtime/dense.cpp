#include "dense.hpp"

#include <algorithm>

#include "stage.hpp"

namespace nsa {

void dense_attention(const Context& context, const Problem& p, const AttentionTensors& t) {
  const StageScope scope(context.observer, Stage::attention, "dense", p.max_seq_len(),
                         context.stream);
  dense_rows(context, p, sequences_of(p), t.q, t.k_sel, t.v_sel, t.o);
}

/// Dense attention is window attention whose window reaches back to the first token, so it runs the
/// window stage's rows and no code of its own.
void dense_rows(const Context& context, const Problem& problem, std::span<const Sequence> sequences,
                const TensorView& q, const TensorView& k, const TensorView& v,
                const TensorView& o) {
  Problem dense = problem;
  dense.geometry.window = std::max<std::int64_t>(problem.max_kv_len(), 1);
  run_stage(context, {Stage::attend_window, dense, sequences, {q, k, v}, {o}});
}

void no_blocks(const TensorView& blocks) {
  for (std::int64_t token = 0; token < blocks.shape[0]; ++token) {
    for (std::int64_t head = 0; head < blocks.shape[1]; ++head) {
      std::fill_n(blocks.as<std::int32_t>() + blocks.at(token, head), blocks.shape[2], -1);
    }
  }
}

}  // namespace nsa
