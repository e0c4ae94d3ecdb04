// From the layer's input to q and the three K/V sets: seven bias-free linears, RoPE on q and k.
#include <array>
#include <cmath>
#include <numeric>

#include "reference/reference.hpp"

namespace nsa::reference {

void rotate(std::span<double> head, std::int64_t position, const AttentionOptions& options) {
  const double dim = static_cast<double>(head.size());
  for (std::size_t i = 0; i + 1 < head.size(); i += 2) {
    const double frequency = std::pow(options.rope_base, -static_cast<double>(i) / dim);
    const double angle = static_cast<double>(position) / options.rope_scale * frequency;
    const double x0 = head[i], x1 = head[i + 1];
    head[i] = x0 * std::cos(angle) - x1 * std::sin(angle);
    head[i + 1] = x0 * std::sin(angle) + x1 * std::cos(angle);
  }
}

/// In eight partial sums: one chain of additions took a third of the time of a sweep's checks.
static double dot(const Row& a, const Row& b) {
  std::array<double, 8> sums{};
  const std::size_t whole = a.size() / sums.size() * sums.size();
  for (std::size_t i = 0; i < whole; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = whole; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Row linear(const TensorView& weight, std::int64_t first, std::int64_t count, const Row& x) {
  Row y;
  for (std::int64_t r = first; r < first + count; ++r) {
    y.push_back(dot(load_index(weight, r), x));
  }
  return y;
}

std::vector<Projection> projections(const Problem& p) {
  const std::int64_t dk = p.head_dim_k, dv = p.head_dim_v, kv = p.kv_heads;
  const std::int64_t k_cmp = p.q_heads * dk, v_cmp = k_cmp + 3 * kv * dk;
  return {{0, p.q_heads, dk, true},
          {k_cmp, kv, dk, true},
          {v_cmp, kv, dv, false},
          {k_cmp + kv * dk, kv, dk, true},
          {v_cmp + kv * dv, kv, dv, false},
          {k_cmp + 2 * kv * dk, kv, dk, true},
          {v_cmp + 2 * kv * dv, kv, dv, false}};
}

Row project_token(const Projection& projection, const TensorView& w_qkv, const Row& x,
                  std::int64_t position, const AttentionOptions& options) {
  Row y = linear(w_qkv, projection.first_row, projection.heads * projection.dim, x);
  if (!projection.rotated) return y;
  const auto dim = static_cast<std::size_t>(projection.dim);
  for (std::size_t head = 0; head < y.size(); head += dim) {
    rotate(std::span(y).subspan(head, dim), position, options);
  }
  return y;
}

}  // namespace nsa::reference
