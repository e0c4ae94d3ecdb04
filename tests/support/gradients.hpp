// What tests of the backward pass share, on a CPU and on a GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cpu/convert.hpp"
#include "nsa/kernels/backward_inputs.hpp"
#include "reference/reference.hpp"

namespace nsa::test {

inline constexpr std::array kBackwardStages{
    Stage::project_rope,  Stage::compress,     Stage::attend_compressed, Stage::attend_selected,
    Stage::attend_window, Stage::gate_combine, Stage::out_proj};

/// Poisoned gradients of the stage, all of one dtype.
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

/// What is right for inputs of that dtype: o of the forward pass is rounded to it.
inline double gradient_tolerance(Dtype dtype) {
  return dtype == Dtype::fp64 ? 1e-11 : dtype == Dtype::fp32 ? 1e-5 : 1e-2;
}

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
  std::vector<double> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < rows; ++r) {
    load_row(view, r * width, width, row.data());
    double difference = 0, norm = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      const double right = expected[static_cast<std::size_t>(r * width + c)];
      const double wrong = row[static_cast<std::size_t>(c)] - right;
      difference += wrong * wrong, norm += right * right;
    }
    const double error = std::sqrt(difference) / std::max({std::sqrt(norm), floor, 1e-300});
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

}  // namespace nsa::test
