// Backward launches of CPU rows, and what their gradients are compared with.
#pragma once

#include <algorithm>
#include <vector>

#include "attend_support.hpp"
#include "catch.hpp"
#include "gradients.hpp"
#include "reference/backward/stage.hpp"

namespace nsa::test {

inline Problem backward_of(Problem p) {
  p.direction = Direction::backward;
  if (p.model.model_dim == 0) p.model.model_dim = 24;
  return p;
}

/// CPU rows of the stage's backward pass.
inline std::vector<const Variant*> backward_rows(Stage stage) {
  std::vector<const Variant*> rows;
  for (const Variant& row : catalog()) {
    if (row.backend == Backend::cpu && row.direction == Direction::backward && row.launch &&
        row.stages.front() == stage) {
      rows.push_back(&row);
    }
  }
  return rows;
}

struct BackwardLaunch {
  const Variant& row;
  const Problem& problem;
  std::vector<TensorView> in;
  Saved saved{};
  unsigned accumulate = 0;
  AttentionOptions options{};
  Point point{};

  /// Into these gradients; checks that the workspace is as large as the row says at most.
  void operator()(const std::vector<TensorView>& out) const {
    Workspace workspace;
    Saved copy = saved;
    HostLaunch{.row = row,
               .problem = problem,
               .in = in,
               .out = out,
               .point = point,
               .options = options,
               .saved = &copy,
               .accumulate = accumulate}
        .run(workspace);
    const auto bytes = static_cast<std::int64_t>(workspace.peak_bytes());
    CHECK(bytes <= workspace_of(row, problem));
  }
};

/// Checks each gradient row by row. A tenth of a typical row is the floor of its gradient; of the
/// queries and keys of attention also a tenth of a typical row of the values' gradient, which is
/// what their terms are made of.
inline void check_gradients(Stage stage, const std::vector<reference::Row>& expected,
                            const std::vector<HostTensor>& produced, double tolerance) {
  const bool attention = std::ranges::find(kAttendStages, stage) != kAttendStages.end();
  const auto typical = [&](std::size_t i) {
    return typical_norm(expected[i], produced[i].shape.shape[0]);
  };
  for (std::size_t i = 0; i < produced.size(); ++i) {
    INFO(produced[i].name);
    const double floor = std::max(typical(i), attention ? typical(2) : 0.0) / 10;
    CHECK(worst_row_error(expected[i], produced[i], floor) <= tolerance);
  }
}

}  // namespace nsa::test
