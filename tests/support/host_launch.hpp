// One launch in host memory, with all that LaunchArgs only borrows.
#pragma once

#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/routing.hpp"

namespace nsa::test {

/// Of the CPU, without a table: what composites leave open runs in the built-in order.
inline const Router& built_in_router() {
  static const Router router{Device{}};
  return router;
}

struct HostLaunch {
  const Variant& row;
  const Problem& problem;
  std::vector<TensorView> in, out;
  Point point{};
  AttentionOptions options{};
  Saved* saved = nullptr;
  unsigned accumulate = 0;
  std::vector<Sequence> sequences = sequences_of(problem);

  /// Borrows from this and the workspace.
  LaunchArgs args(Workspace& workspace) const {
    return {.row = row,
            .problem = problem,
            .sequences = sequences,
            .device_sequences = sequences.data(),
            .in = in,
            .out = out,
            .point = point,
            .options = options,
            .workspace = workspace,
            .saved = saved,
            .router = &built_in_router(),
            .accumulate = accumulate};
  }
  void run(Workspace& workspace) const { row.launch(args(workspace)); }
};

}  // namespace nsa::test
