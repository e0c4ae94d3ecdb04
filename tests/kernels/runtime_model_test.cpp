#include "catch.hpp"
#include "nsa/kernels/forward_bytes.hpp"
#include "runtime_support.hpp"

namespace nsa::test {
namespace {

ModelConfig small_model() {
  ModelConfig c;
  c.name = "small";
  c.model_dim = 16;
  c.layers = 3;
  c.vocab_size = 20;
  c.q_heads = 4;
  c.kv_heads = 2;
  c.head_dim_k = 8;
  c.head_dim_v = 8;
  c.geometry = {.cmp_block = 4, .cmp_stride = 2, .sel_block = 8, .sel_count = 3, .window = 10};
  c.dtype = Dtype::fp64;
  return c;
}

struct Fixture {
  explicit Fixture(const ModelConfig& c) : config(c), flat(make_weights(c, 9)) {
    context.router = &router;
    context.workspace = &workspace;
  }
  std::vector<double> forward(const std::vector<std::int32_t>& tokens, std::int64_t cached,
                              std::span<KvCache> caches = {}) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    std::vector<std::int32_t> copy = tokens;
    std::vector<double> logits(tokens.size() * static_cast<std::size_t>(config.vocab_size), -7);
    model_forward(context, config, problem_of(config, {n}, {cached}),
                  bind_weights(config, flat.view()), make_view(copy.data(), Dtype::int32, {n}),
                  make_view(logits.data(), Dtype::fp64, {n, config.vocab_size}), caches);
    return logits;
  }
  ModelConfig config;
  HostTensor flat;
  Router router{Router::Inputs{}};
  Workspace workspace;
  Context context;
};

std::vector<std::int32_t> some_tokens(std::size_t n) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>(fmix32(static_cast<std::uint32_t>(i)) % 20));
  return tokens;
}

}  // namespace

TEST_CASE("a model decodes to what its prefill gives, NSA and dense", "[kernels][model]") {
  for (const AttentionKind kind : {AttentionKind::nsa, AttentionKind::dense}) {
    ModelConfig config = small_model();
    config.attention = kind;
    Fixture model(config);
    const std::vector<std::int32_t> tokens = some_tokens(37);
    const std::vector<double> whole = model.forward(tokens, 0);
    std::vector<KvCache> caches = make_caches(config, 1, 40);
    std::vector<double> steps = model.forward({tokens.begin(), tokens.begin() + 20}, 0, caches);
    for (std::int64_t t = 20; t < 37; ++t) {
      const std::vector<double> step =
          model.forward({tokens[static_cast<std::size_t>(t)]}, t, caches);
      steps.insert(steps.end(), step.begin(), step.end());
    }
    CHECK(largest_difference(whole, steps) < 1e-9);
  }
}

TEST_CASE("a decode loop with lengths on the device names what a CPU lacks", "[kernels][model]") {
  const ModelConfig config = small_model();
  Fixture model(config);
  std::vector<KvCache> caches = make_caches(config, 1, 40);
  std::string said;
  try {
    const DecodeLoop loop(model.context, config, caches);
  } catch (const InputError& e) {
    said = e.what();
  }
  CHECK(said.find("fused_step") != std::string::npos);
  CHECK(said.find("runs on cuda devices, and cpu is not one") != std::string::npos);
}

TEST_CASE("the workspace that is reserved for a model holds it", "[kernels][model]") {
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16}) {
    ModelConfig config = small_model();
    config.dtype = dtype;
    Fixture model(config);
    const Problem p = problem_of(config, {150}, {0});
    model.workspace.reserve(workspace_bytes(model.router, Stage::model, p));
    HostTensor logits{"logits", {dtype, 2, {150, config.vocab_size, 0, 0}}, {}};
    logits.make_room();
    std::vector<std::int32_t> tokens = some_tokens(150);
    model_forward(model.context, config, p, bind_weights(config, model.flat.view()),
                  make_view(tokens.data(), Dtype::int32, {150}), logits.view());
    CHECK(model.workspace.grow_events() == 0);
    CHECK(model.workspace.peak_bytes() > 0);
  }
}

TEST_CASE("what a forward pass holds is predicted within 5 %, and nothing grows",
          "[kernels][model]") {
  ModelConfig config = small_model();
  config.model_dim = GENERATE(24, 96);
  config.dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  config.attention = GENERATE(AttentionKind::nsa, AttentionKind::dense);
  const std::int64_t length = GENERATE(16, 300, 700);
  Fixture model(config);
  model.context.options.branches = GENERATE(7u, 2u);
  const Problem p = problem_of(config, {length, length}, {0, 0});
  const ForwardBytes predicted = predict_forward(model.router, config, p, model.context.options);
  model.workspace.reserve(static_cast<std::size_t>(predicted.workspace));
  HostTensor logits{"logits", {config.dtype, 2, {2 * length, config.vocab_size, 0, 0}}, {}};
  logits.make_room();
  std::vector<std::int32_t> tokens = some_tokens(static_cast<std::size_t>(2 * length));
  model_forward(model.context, config, p, bind_weights(config, model.flat.view()),
                make_view(tokens.data(), Dtype::int32, {2 * length}), logits.view());
  CHECK(predicted.weights == static_cast<std::int64_t>(model.flat.bytes.size()));
  CHECK(predicted.inputs ==
        static_cast<std::int64_t>(logits.bytes.size() + tokens.size() * sizeof tokens[0]));
  INFO("workspace predicted " << predicted.workspace << ", measured "
                              << model.workspace.peak_bytes());
  const auto measured = static_cast<double>(predicted.weights + predicted.inputs) +
                        static_cast<double>(model.workspace.peak_bytes());
  CHECK(static_cast<double>(predicted.peak()) / measured > 0.95);
  CHECK(static_cast<double>(predicted.peak()) / measured < 1.05);
  CHECK(model.workspace.grow_events() == 0);
}

TEST_CASE("reserves ask for room where the chosen row copies keys, and nowhere else",
          "[kernels][model]") {
  ModelConfig config = small_model();
  config.dtype = Dtype::fp32;
  const Problem p = problem_of(config, {150}, {0});
  const auto bytes = [&](const char* variant, std::int64_t keys) {
    Router::Inputs inputs;
    inputs.device.backend = Backend::cpu;
    const std::vector<std::string> names{"NSA_VARLEN_RESERVE_K=" + std::to_string(keys)};
    inputs.environment = snapshot_environment(names);
    inputs.api.variants.push_back({Stage::attend_selected, {{"attend_selected"}, variant, {}}});
    return workspace_bytes(Router(std::move(inputs)), Stage::model, p);
  };
  const std::int64_t token = (p.head_dim_k + p.head_dim_v) * 4, many = 1'000'000;
  CHECK(bytes("varlen_v2", many) >= static_cast<std::size_t>(many * token));
  CHECK(bytes("varlen_v2", 0) < static_cast<std::size_t>(many * token));
  CHECK(bytes("gather", many) == bytes("gather", 0));
}

TEST_CASE("fewer layers are fewer parameters and another answer", "[kernels][model]") {
  Fixture three(small_model());
  ModelConfig config = small_model();
  config.layers = 2;
  Fixture two(config);
  CHECK(parameter_count(config) < parameter_count(small_model()));
  CHECK(largest_difference(three.forward(some_tokens(9), 0), two.forward(some_tokens(9), 0)) >
        1e-6);
}

TEST_CASE("a token outside of the vocabulary is refused", "[kernels][model]") {
  Fixture model(small_model());
  CHECK_THROWS_AS(model.forward({3, 20}, 0), InputError);
  CHECK_THROWS_AS(model.forward({-1}, 0), InputError);
}

TEST_CASE("the 125M preset has the parameters of its shape", "[kernels][model]") {
  // 12 x (768 x (768 + 3 x 2 x 128) + 768 x 768 + 8 x 768^2) + 2 x 256 x 768 and small change.
  const double millions = static_cast<double>(parameter_count(ModelConfig{})) / 1e6;
  CHECK(millions > 78);
  CHECK(millions < 79);
}

}  // namespace nsa::test
