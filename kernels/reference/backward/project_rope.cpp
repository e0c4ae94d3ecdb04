// Backward of the projections, of any bias-free linear layer, and of RoPE.
#include "reference/backward/backward.hpp"

namespace nsa::reference {

void linear_backward(const TensorView& weight, std::int64_t first, const Row& x, const Row& d_y,
                     const TensorView& d_weight, Row& d_x) {
  for (std::size_t i = 0; i < d_y.size(); ++i) {
    const std::int64_t row = first + static_cast<std::int64_t>(i);
    const Row w = load_index(weight, row);
    double* d_w = d_weight.as<double>() + d_weight.at(row);
    for (std::size_t c = 0; c < x.size(); ++c) {
      d_w[c] += d_y[i] * x[c];
      d_x[c] += d_y[i] * w[c];
    }
  }
}

void project_token_backward(const Projection& projection, const TensorView& w_qkv, const Row& x,
                            std::int64_t position, const AttentionOptions& options, Row d_y,
                            const TensorView& d_w_qkv, Row& d_x) {
  const auto dim = static_cast<std::size_t>(projection.dim);
  // The transpose of a rotation is the rotation back.
  for (std::size_t head = 0; projection.rotated && head < d_y.size(); head += dim)
    rotate(std::span(d_y).subspan(head, dim), -position, options);
  linear_backward(w_qkv, projection.first_row, x, d_y, d_w_qkv, d_x);
}

}  // namespace nsa::reference
