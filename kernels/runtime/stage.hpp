// One stage of a call: choose, announce, count, launch.
#pragma once

#include <initializer_list>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// The sequences of a call, on the host and where its tensors are.
struct PlacedSequences {
  std::span<const Sequence> host;
  const Sequence* device = nullptr;  // [host.size()]
};
/// Places them in the context's workspace; the host's have to outlive the calls.
PlacedSequences place_sequences(const Context& context, std::span<const Sequence> sequences);

/// A stage's operands: the problem that the stage sees (its lengths may be those of a cache's
/// window) and the one that decides, which is the caller's.
struct StageCall {
  Stage stage;
  const Problem& problem;
  const PlacedSequences& sequences;
  std::initializer_list<TensorView> in;
  std::initializer_list<TensorView> out;
};

/// Runs the variant that the router chooses for `call.stage`. InputError when there is none.
void run_stage(const Context& context, const StageCall& call, Saved* saved = nullptr);
/// A row that computes both stages at once and runs the problem. Null where there is none, or where
/// the API or the environment asks for a row of one of the stages.
const Variant* fused_row(const Context& context, Stage first, Stage second, const Problem& problem);
/// Runs that row; `call.stage` is the one that it is announced as.
void run_fused(const Context& context, const Variant& row, const StageCall& call,
               Saved* saved = nullptr);
/// Whether the chosen variant of `stage` reads the ranges, so that they have to be made first.
bool needs_ranges(const Context& context, const Problem& problem);

/// A tensor in the workspace, contiguous.
TensorView take_tensor(Workspace& workspace, Dtype dtype,
                       std::initializer_list<std::int64_t> shape);
/// Rows [begin, begin + count) of dimension 0.
TensorView slice_rows(const TensorView& tensor, std::int64_t begin, std::int64_t count);

}  // namespace nsa
