#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu/convert.hpp"
#include "cpu/simd/generate_rows.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa {
namespace {

std::int64_t gate_width(const ModelConfig& c) {
  return std::max<std::int64_t>(1, c.head_dim_k / 2);
}

using Shape = std::vector<std::int64_t>;

/// Kinds of a piece with values of their own; otherwise the fan in.
constexpr std::int64_t kNorm = 0, kBias = -1;  // ones, zeros

/// Every tensor of the model in the order of its seeds: visit(view, shape, fan in or kind, where).
/// The flat tensor holds large ones first, then the gates' by kind, so that all but the biases of
/// three start at multiples of 16 bytes where the model's sizes are such.
enum class Where : std::uint8_t { front, fc1_w, fc2_w, fc1_b, fc2_b };
constexpr std::array kOrder{Where::front, Where::fc1_w, Where::fc2_w, Where::fc1_b, Where::fc2_b};
template <class Visit>
void visit_weights(const ModelConfig& c, ModelWeights& w, const Visit& visit) {
  using enum Where;
  visit(w.embedding, Shape{c.vocab_size, c.model_dim}, 1, front);
  w.blocks.resize(static_cast<std::size_t>(c.layers));
  for (BlockWeights& b : w.blocks) {
    LayerWeights& a = b.attention;
    const std::int64_t o_width = c.q_heads * c.head_dim_v, mlp = c.mlp_ratio * c.model_dim;
    visit(b.norm1, Shape{c.model_dim}, kNorm, front);
    visit(a.w_qkv, Shape{qkv_rows(c), c.model_dim}, c.model_dim, front);
    visit(a.gate.fc1_w, Shape{gate_width(c), c.head_dim_k}, c.head_dim_k, fc1_w);
    visit(a.gate.fc1_b, Shape{gate_width(c)}, kBias, fc1_b);
    visit(a.gate.fc2_w, Shape{3, gate_width(c)}, gate_width(c), fc2_w);
    visit(a.gate.fc2_b, Shape{3}, kBias, fc2_b);
    visit(a.w_o, Shape{c.model_dim, o_width}, o_width, front);
    visit(b.norm2, Shape{c.model_dim}, kNorm, front);
    visit(b.w_up, Shape{mlp, c.model_dim}, c.model_dim, front);
    visit(b.w_down, Shape{c.model_dim, mlp}, mlp, front);
  }
  visit(w.final_norm, Shape{c.model_dim}, kNorm, front);
  visit(w.lm_head, Shape{c.vocab_size, c.model_dim}, c.model_dim, front);
}

std::int64_t product(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

/// One tensor of the model and its place in the flat one.
struct Piece {
  TensorView* view;
  Shape shape;
  std::int64_t fan_in;
  Where where;
  std::int64_t begin = 0;
};

/// All of them, in the order of their seeds. The views are those of `weights`.
std::vector<Piece> pieces_of(const ModelConfig& config, ModelWeights& weights) {
  std::vector<Piece> pieces;
  visit_weights(config, weights,
                [&](TensorView& view, const Shape& shape, std::int64_t fan_in, Where where) {
                  pieces.push_back({&view, shape, fan_in, where});
                });
  std::int64_t end = 0;
  for (const Where where : kOrder) {
    for (Piece& piece : pieces) {
      if (piece.where != where) continue;
      piece.begin = end;
      end += product(piece.shape);
    }
  }
  return pieces;
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
      if (fan_in > 0)
        cpu::generate_row(static_cast<std::uint64_t>(from), n, seed, scale, values);
      else
        std::fill_n(values, n, constant);
      store_row(flat, begin + from, n, values);
    }
  });
}

}  // namespace

std::int64_t parameter_count(const ModelConfig& config) noexcept {
  std::int64_t sum = 0;
  ModelWeights weights;
  for (const Piece& piece : pieces_of(config, weights)) sum += product(piece.shape);
  return sum;
}

ModelWeights bind_weights(const ModelConfig& config, const TensorView& flat) {
  expects(flat.rank == 1 && flat.contiguous() && flat.shape[0] == parameter_count(config),
          "one flat tensor of parameter_count elements");
  ModelWeights weights;
  const auto element = static_cast<std::int64_t>(size_of(flat.dtype));
  for (const Piece& piece : pieces_of(config, weights)) {
    char* data = flat.as<char>() + piece.begin * element;
    *piece.view = piece.shape.size() == 1
                      ? make_view(data, flat.dtype, {piece.shape[0]})
                      : make_view(data, flat.dtype, {piece.shape[0], piece.shape[1]});
  }
  return weights;
}

HostTensor make_weights(const ModelConfig& config, std::uint64_t seed) {
  HostTensor flat;
  flat.name = "weights";
  flat.shape = {config.dtype, 1, {parameter_count(config), 0, 0, 0}};
  flat.make_room();
  ModelWeights weights;
  for (const Piece& piece : pieces_of(config, weights)) {
    fill_weights(flat.view(), piece.begin, product(piece.shape), piece.fan_in, seed++);
  }
  return flat;
}

}  // namespace nsa
