// Backward launches of CPU rows, and what their gradients are compared with.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attend_support.hpp"
#include "catch.hpp"
#include "nsa/kernels/backward_inputs.hpp"
#include "reference/backward/stage.hpp"

namespace nsa::test {

inline constexpr std::array kBackwardStages{
    Stage::project_rope,  Stage::compress,     Stage::attend_compressed, Stage::attend_selected,
    Stage::attend_window, Stage::gate_combine, Stage::out_proj};

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

/// Poisoned gradients, of the problem's dtype or all of another one.
inline std::vector<HostTensor> make_gradients(Stage stage, const Problem& p, Dtype dtype) {
  std::vector<HostTensor> gradients;
  for (const TensorSpec& spec : signature_of(stage, Direction::backward).outputs) {
    HostTensor& gradient =
        gradients.emplace_back(std::string(spec.name), shape_of(stage, spec.name, p), HostBytes{});
    gradient.shape.dtype = dtype;
    gradient.bytes.assign(gradient.view().bytes(), kPoison);
  }
  return gradients;
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

/// Root of the mean square of the rows' norms; rows are indices of dimension 0.
inline double typical_norm(const reference::Row& gradient, std::int64_t rows) {
  double total = 0;
  for (const double x : gradient) total += x * x;
  return std::sqrt(total / static_cast<double>(std::max<std::int64_t>(rows, 1)));
}

/// Largest error of a row, relative to the row's norm. A row may be 0 but for rounding where terms
/// cancel, so none counts as shorter than `floor`.
inline double worst_row_error(const reference::Row& expected, const HostTensor& produced,
                              double floor) {
  const TensorView view = produced.view();
  const std::int64_t rows = view.shape[0], width = rows == 0 ? 0 : view.elements() / rows;
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double difference = 0, norm = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      const double right = expected[static_cast<std::size_t>(r * width + c)];
      const double wrong = element(produced, r * width + c) - right;
      difference += wrong * wrong, norm += right * right;
    }
    const double error = std::sqrt(difference) / std::max({std::sqrt(norm), floor, 1e-300});
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

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

/// What is right for inputs of that dtype: o of the forward pass is rounded to it.
inline double gradient_tolerance(Dtype dtype) {
  return dtype == Dtype::fp64 ? 1e-11 : dtype == Dtype::fp32 ? 1e-5 : 1e-2;
}

}  // namespace nsa::test
