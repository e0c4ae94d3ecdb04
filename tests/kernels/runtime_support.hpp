// A small NSA layer with random weights, run through the runtime, for the property tests.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa::test {

inline Problem small_problem(std::vector<std::int64_t> seq_lens, Dtype dtype = Dtype::fp64) {
  Problem p;
  p.context_lens.assign(seq_lens.size(), 0);
  p.seq_lens = std::move(seq_lens);
  p.q_heads = 6;
  p.kv_heads = 2;
  p.head_dim_k = 8;
  p.head_dim_v = 4;
  p.geometry = {.cmp_block = 4, .cmp_stride = 2, .sel_block = 8, .sel_count = 4, .window = 6};
  p.dtype = dtype;
  p.model.model_dim = 12;
  return p;
}

inline HostTensor random_tensor(Dtype dtype, std::initializer_list<std::int64_t> shape,
                                std::uint64_t seed, double scale) {
  HostTensor tensor;
  tensor.shape = {dtype, static_cast<int>(shape.size()), {}};
  std::size_t i = 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    tensor.shape.shape[i++] = extent;
    count *= extent;
  }
  tensor.bytes.resize(static_cast<std::size_t>(count) * size_of(dtype));
  for (std::int64_t k = 0; k < count; ++k) {
    const double value = generate(static_cast<std::uint64_t>(k), seed, scale);
    if (dtype == Dtype::fp64) tensor.view().as<double>()[k] = value;
    if (dtype == Dtype::fp32) tensor.view().as<float>()[k] = static_cast<float>(value);
  }
  return tensor;
}

/// Weights of one layer and a way to run it.
struct Layer {
  explicit Layer(const Problem& p, std::uint64_t seed = 40) : shape(p) {
    const std::int64_t hidden = p.head_dim_k / 2;
    w_qkv = random_tensor(p.dtype, {qkv_rows(p), p.model.model_dim}, seed + 1, 1.5);
    fc1_w = random_tensor(p.dtype, {hidden, p.head_dim_k}, seed + 2, 2);
    fc1_b = random_tensor(p.dtype, {hidden}, seed + 3, 0.5);
    fc2_w = random_tensor(p.dtype, {3, hidden}, seed + 4, 2);
    fc2_b = random_tensor(p.dtype, {3}, seed + 5, 0.5);
    w_o = random_tensor(p.dtype, {p.model.model_dim, p.q_heads * p.head_dim_v}, seed + 6, 1);
    Router::Inputs inputs;
    router = std::make_unique<Router>(inputs);
  }

  LayerWeights weights() const {
    return {w_qkv.view(), {fc1_w.view(), fc1_b.view(), fc2_w.view(), fc2_b.view()}, w_o.view()};
  }

  void prefill_mode(const char* mode) {
    Router::Inputs inputs;
    inputs.api.variants.push_back({Stage::attention, {{"attention"}, mode, {}}});
    router = std::make_unique<Router>(std::move(inputs));
  }

  /// Rows of y for x [tokens, model_dim].
  std::vector<double> run(const Problem& p, const TensorView& x, KvCache* cache = nullptr,
                          AttentionKind kind = AttentionKind::nsa) {
    HostTensor y = random_tensor(p.dtype, {p.total_tokens(), p.model.model_dim}, 1, 0);
    std::memset(y.bytes.data(), 0xA5, y.bytes.size());
    Context context;
    context.router = router.get();
    context.workspace = &workspace;
    context.options = options;
    attention_layer(context, p, weights(), {.x = x, .y = y.view()}, cache, kind);
    std::vector<double> values;
    for (std::int64_t i = 0; i < y.view().elements(); ++i) {
      values.push_back(p.dtype == Dtype::fp64 ? y.view().as<double>()[i]
                                              : static_cast<double>(y.view().as<float>()[i]));
    }
    return values;
  }

  Problem shape;
  HostTensor w_qkv, fc1_w, fc1_b, fc2_w, fc2_b, w_o;
  AttentionOptions options;
  std::unique_ptr<Router> router;
  Workspace workspace;
};

inline TensorView rows_of(const TensorView& x, std::int64_t begin, std::int64_t count) {
  TensorView view = x;
  view.data = x.as<char>() + begin * x.stride[0] * static_cast<std::int64_t>(size_of(x.dtype));
  view.shape[0] = count;
  return view;
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (!(d <= worst)) worst = d;  // NaN stays
  }
  return worst;
}

}  // namespace nsa::test
