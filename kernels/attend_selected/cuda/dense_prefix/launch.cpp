#include "attend_selected/cuda/dense_prefix/launch.hpp"

#include <algorithm>

#include "attend_selected/cuda/fused_query/launch.hpp"
#include "cuda/launch/typed_kernels.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kDenseCausal{cuda::dense_causal_fp32, cuda::dense_causal_bf16,
                                          cuda::dense_causal_fp16};

/// Queries of a sequence that n l' may cover, at most.
std::int64_t coverable(const LaunchArgs& args, const Sequence& s) {
  const Geometry& g = args.problem.geometry;
  return std::clamp<std::int64_t>(g.sel_count * g.sel_block - s.first_position(), 0, s.q_len);
}

void launch_dense_prefix(const LaunchArgs& args) {
  cuda::AttendParams dense = cuda::make_attend_params(args), sparse = dense;
  std::int64_t most = 0;
  for (const Sequence& s : args.sequences) most = std::max(most, coverable(args, s));
  if (most == 0) return cuda::fused_query(sparse, args);
  expects(dense.blocks != nullptr, "blocks");
  const WorkspaceScope scope(args.workspace);
  Sequence* parts = args.workspace.take<Sequence>(2 * dense.batch).data();
  cuda::split_sequences(dense, parts, parts + dense.batch, args.stream);
  dense.sequences = parts;
  if (dense.batch == 1) dense.tokens = most;  // no tiles for those past it
  kDenseCausal.of(args.problem.dtype)(dense, args.stream);
  sparse.sequences = parts + sparse.batch;
  cuda::fused_query(sparse, args);
}

}  // namespace

extern constinit const LaunchFunction kCudaDensePrefix = launch_dense_prefix;

}  // namespace nsa::attend_selected
