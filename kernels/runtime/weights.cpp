#include <algorithm>
#include <cmath>

#include "cpu/convert.hpp"
#include "cpu/parallel.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa {
namespace {

std::int64_t qkv_rows(const ModelConfig& c) {
  return c.q_heads * c.head_dim_k + 3 * c.kv_heads * (c.head_dim_k + c.head_dim_v);
}
std::int64_t gate_width(const ModelConfig& c) {
  return std::max<std::int64_t>(1, c.head_dim_k / 2);
}

/// Walks the flat tensor and hands out its pieces in order, each with its fan in (0 = a norm, whose
/// weights are ones; -1 = a bias, zeros).
template <class Visit>
void visit_weights(const ModelConfig& c, ModelWeights& w, const Visit& visit) {
  visit(w.embedding, {c.vocab_size, c.model_dim}, 1);
  w.blocks.resize(static_cast<std::size_t>(c.layers));
  for (BlockWeights& b : w.blocks) {
    visit(b.norm1, {c.model_dim}, 0);
    visit(b.attention.w_qkv, {qkv_rows(c), c.model_dim}, c.model_dim);
    visit(b.attention.fc1_w, {gate_width(c), c.head_dim_k}, c.head_dim_k);
    visit(b.attention.fc1_b, {gate_width(c)}, -1);
    visit(b.attention.fc2_w, {3, gate_width(c)}, gate_width(c));
    visit(b.attention.fc2_b, {3}, -1);
    visit(b.attention.w_o, {c.model_dim, c.q_heads * c.head_dim_v}, c.q_heads * c.head_dim_v);
    visit(b.norm2, {c.model_dim}, 0);
    visit(b.w_up, {c.mlp_ratio * c.model_dim, c.model_dim}, c.model_dim);
    visit(b.w_down, {c.model_dim, c.mlp_ratio * c.model_dim}, c.mlp_ratio * c.model_dim);
  }
  visit(w.final_norm, {c.model_dim}, 0);
  visit(w.lm_head, {c.vocab_size, c.model_dim}, c.model_dim);
}

using Shape = std::initializer_list<std::int64_t>;

std::int64_t product(Shape shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

void fill_weights(const TensorView& flat, std::int64_t begin, std::int64_t count,
                  std::int64_t fan_in, std::uint64_t seed) {
  constexpr std::int64_t kPiece = 4096;
  const double scale =
      fan_in > 0 ? kUnitVarianceScale / std::sqrt(static_cast<double>(fan_in)) : 0.0;
  const double constant = fan_in == 0 ? 1.0 : 0.0;
  parallel_for(0, (count + kPiece - 1) / kPiece, 4, [&](std::int64_t first, std::int64_t last) {
    double values[kPiece];
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t from = piece * kPiece, n = std::min(kPiece, count - from);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto counter = static_cast<std::uint64_t>(from + i);
        values[i] = constant + (fan_in > 0 ? generate(counter, seed, scale) : 0.0);
      }
      store_row(flat, begin + from, n, values);
    }
  });
}

}  // namespace

std::int64_t parameter_count(const ModelConfig& config) noexcept {
  std::int64_t sum = 0;
  ModelWeights weights;
  visit_weights(config, weights,
                [&sum](TensorView&, Shape shape, std::int64_t) { sum += product(shape); });
  return sum;
}

ModelWeights bind_weights(const ModelConfig& config, const TensorView& flat) {
  expects(flat.rank == 1 && flat.contiguous() && flat.shape[0] == parameter_count(config),
          "one flat tensor of parameter_count elements");
  ModelWeights weights;
  std::size_t offset = 0;
  visit_weights(config, weights, [&](TensorView& view, Shape shape, std::int64_t) {
    view = make_view(flat.as<char>() + offset, flat.dtype, shape);
    offset += view.bytes();
  });
  return weights;
}

HostTensor make_weights(const ModelConfig& config, std::uint64_t seed) {
  HostTensor flat;
  flat.name = "weights";
  flat.shape = {config.dtype, 1, {parameter_count(config), 0, 0, 0}};
  flat.bytes.resize(static_cast<std::size_t>(flat.shape.shape[0]) * size_of(config.dtype));
  ModelWeights weights;
  std::int64_t offset = 0;
  visit_weights(config, weights, [&](TensorView&, Shape shape, std::int64_t fan_in) {
    fill_weights(flat.view(), offset, product(shape), fan_in, seed++);
    offset += product(shape);
  });
  return flat;
}

}  // namespace nsa
