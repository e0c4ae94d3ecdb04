// Decode steps as one graph that replays at every length.
#include <algorithm>

#include "gpu_layer.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/probes/graph.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// Two sequences of `whole`'s length: prefilled to `lengths`, then decoded to the end by replays of
/// one graph. Returns the largest difference to one prefill of everything.
double replayed_difference(const Device& gpu, Problem whole, std::array<std::int64_t, 2> lengths) {
  const Stream stream;
  const std::int64_t tokens = whole.seq_lens[0];
  GpuLayer gpu_layer(gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get());
  attention_layer(gpu_layer.context(), whole, gpu_layer.weights(),
                  {.x = gpu_layer.device[0].view(), .y = y.view()});
  const std::vector<float> want = as_floats(y.download(stream.get()));

  ModelConfig config = config_of(whole);
  config.layers = 1;
  const std::int64_t steps = tokens - std::max(lengths[0], lengths[1]);
  std::vector<KvCache> caches = make_caches(config, 2, tokens, device::allocator());
  Problem fill = problem_of(config, {lengths[0], lengths[1]}, {0, 0});
  Problem both = whole;
  both.seq_lens = fill.seq_lens;
  both.context_lens = {0, 0};
  const DeviceTensor x(make_inputs(Stage::layer, both, 1).front(), stream.get());
  const DeviceTensor filled(output_of(both), stream.get());
  // Both hold the first tokens of the same input.
  const auto row_bytes = static_cast<std::size_t>(x.view().stride[0]) * size_of(whole.dtype);
  const auto copy_rows = [&](const TensorView& to, std::int64_t at, std::int64_t from,
                             std::int64_t count) {
    device::copy_on_device(
        to.as<char>() + static_cast<std::size_t>(at) * row_bytes,
        gpu_layer.device[0].view().as<char>() + static_cast<std::size_t>(from) * row_bytes,
        static_cast<std::size_t>(count) * row_bytes, stream.get());
  };
  copy_rows(x.view(), 0, 0, lengths[0]);
  copy_rows(x.view(), lengths[0], 0, lengths[1]);
  attention_layer(gpu_layer.context(), fill, gpu_layer.weights(),
                  {.x = x.view(), .y = filled.view()}, &caches[0]);

  DecodeLoop loop(gpu_layer.context(), config, caches);
  Problem one = whole;
  one.seq_lens = {1, 1};
  one.context_lens = {0, 0};
  const DeviceTensor token(make_inputs(Stage::layer, one, 2).front(), stream.get());
  const DeviceTensor out(output_of(one), stream.get());
  gpu_layer.workspace.reset();
  gpu_layer.workspace.reserve(workspace_bytes(*gpu_layer.router, Stage::layer, loop.problem()));
  const std::int64_t grown = gpu_layer.workspace.grow_events();
  struct Step {
    GpuLayer& gpu_layer;
    DecodeLoop& loop;
    TensorView x, y;
  } step{gpu_layer, loop, token.view(), out.view()};
  const auto graph = probes::capture_graph(
      gpu, stream.get(),
      [](void* context) {
        const Step& s = *static_cast<Step*>(context);
        s.loop.layer_step(s.gpu_layer.context(), s.gpu_layer.weights(), s.x, s.y);
      },
      &step);
  CHECK(loop.first_context() == std::min(lengths[0], lengths[1]));
  CHECK(loop.last_context() == tokens - 1);
  double worst = 0;
  const auto columns = static_cast<std::size_t>(whole.model.model_dim);
  for (std::int64_t i = 0; i < steps; ++i) {
    copy_rows(token.view(), 0, lengths[0] + i, 1);
    copy_rows(token.view(), 1, lengths[1] + i, 1);
    graph->launch();
    loop.stepped();
    const std::vector<float> got = as_floats(out.download(stream.get()));
    for (std::size_t b = 0; b < 2; ++b) {
      const auto at = static_cast<std::size_t>(lengths[b] + i) * columns;
      worst = std::max(worst, relative_difference({got.data() + b * columns, columns},
                                                  {want.data() + at, columns}));
    }
  }
  CHECK(caches[0].length(0) == lengths[0] + steps);
  CHECK(gpu_layer.workspace.grow_events() == grown);
  CHECK_THROWS_AS(loop.stepped(), InputError);       // one of the two is full
  CHECK(caches[0].length(0) == lengths[0] + steps);  // neither is counted on
  CHECK(caches[0].length(1) == lengths[1] + steps);
  return worst;
}

bool has_fused_step(const Device& gpu, const Problem& problem) {
  Problem step = problem;
  step.phase = Phase::decode;
  step.seq_lens = {1};
  const std::array stage{Stage::attention};
  const Support support = supports(*find_variant(stage, "fused_step", Backend::cuda), step, gpu);
  if (support.supported) return true;
  INFO(support.reason());
  REQUIRE(gpu.compute_capability.value_or(0) != 90);  // there it has to run
  WARN("skipped: " << support.reason());
  return false;
}

}  // namespace

TEST_CASE("a graph of one decode step replays right at every length that it states", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  Problem small = layer_problem(150, Dtype::fp32);
  if (!has_fused_step(*gpu, small)) return;
  CHECK(replayed_difference(*gpu, small, {20, 3}) < 1e-5);
  CHECK(replayed_difference(*gpu, small, {1, 100}) < 1e-5);
  small.geometry.window = 7;  // 14 rows are kept: they move every seventh step
  CHECK(replayed_difference(*gpu, small, {20, 3}) < 1e-5);
  Problem seed = layer_problem(400, Dtype::bf16);
  seed.q_heads = 12;
  seed.head_dim_k = seed.head_dim_v = 64;
  CHECK(replayed_difference(*gpu, seed, {200, 390}) < 2e-2);
}

TEST_CASE("a decode loop says why it cannot run", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  const Problem whole = layer_problem(40, Dtype::fp32);
  GpuLayer gpu_layer(*gpu, whole, stream.get());
  ModelConfig config = config_of(whole);
  std::vector<KvCache> caches = make_caches(config, 1, 40, device::allocator());
  Context context = gpu_layer.context();
  context.options.branches = 3;
  CHECK_THROWS_AS(DecodeLoop(context, config, caches), InputError);
  config.attention = AttentionKind::dense;
  CHECK_THROWS_AS(DecodeLoop(gpu_layer.context(), config, caches), InputError);
}
