#include "classes.hpp"

namespace nsa::tuner {
namespace {

std::int64_t batch_of(BatchBin bin) {
  switch (bin) {
    case BatchBin::one:
      return 1;
    case BatchBin::two_to_four:
      return 4;
    case BatchBin::five_to_sixteen:
      return 16;
    case BatchBin::more:
      return 32;
  }
  return 1;
}

std::optional<double> overlap_of(OverlapBin bin) {
  if (bin == OverlapBin::low) return std::nullopt;
  return bin == OverlapBin::middle ? 0.7 : 0.95;
}

}  // namespace

Problem problem_of(const ProblemClass& of) {
  Problem p;
  p.direction = of.direction;
  p.phase = of.phase;
  p.q_heads = of.q_heads;
  p.kv_heads = of.kv_heads;
  p.head_dim_k = of.head_dim_k;
  p.head_dim_v = of.head_dim_v;
  p.geometry = of.geometry;
  p.dtype = of.dtype;
  if (const auto overlap = overlap_of(of.overlap_bin)) {
    p.selection.pattern = SelectionPattern::smooth;
    p.selection.overlap = overlap;
  }
  const auto batch = static_cast<std::size_t>(batch_of(of.batch_bin));
  p.seq_lens.assign(batch, 1);
  p.context_lens.assign(batch, 0);
  return p;
}

}  // namespace nsa::tuner
