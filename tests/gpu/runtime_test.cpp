// The runtime on a device: caches, graphs, no waiting; and the operations between its stages.
#include <cmath>
#include <cstring>

#include "cpu/convert.hpp"
#include "gpu.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/probes/graph.hpp"
#include "runtime/ops.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Problem layer_problem(std::int64_t tokens, Dtype dtype) {
  return small_problem({tokens}, {0}, 6, 2, 32, 32, dtype);
}

/// One layer with its weights on the device.
struct Twin {
  Twin(const Device& gpu, const Problem& p, CUstream_st* on)
      : stream(on), host(make_inputs(Stage::layer, p, 5)), device(upload(host, on)) {
    Router::Inputs inputs;
    inputs.device = gpu;
    router = std::make_unique<Router>(std::move(inputs));
  }

  Context context() {
    Context c;
    c.router = router.get();
    c.workspace = &workspace;
    c.stream = stream;
    c.constants = constants;
    return c;
  }
  LayerWeights weights() const {
    const auto w = views(device);
    return {w[1], w[2], w[3], w[4], w[5], w[6]};
  }
  /// Rows [first, first + count) of the layer's input.
  TensorView rows(const TensorView& x, std::int64_t first, std::int64_t count) const {
    TensorView part = x;
    part.data = x.as<char>() + first * x.stride[0] * static_cast<std::int64_t>(size_of(x.dtype));
    part.shape[0] = count;
    return part;
  }

  CUstream_st* stream;
  std::vector<HostTensor> host;
  std::vector<DeviceTensor> device;
  std::unique_ptr<Router> router;
  Workspace workspace{nan_filled_memory()};
  Constants constants;
};

HostTensor output_of(const Problem& p) { return make_outputs(Stage::layer, p).front(); }

/// Largest difference of two fp32 tensors over the largest number.
double difference(const HostTensor& a, const HostTensor& b) {
  const auto *x = a.view().as<const float>(), *y = b.view().as<const float>();
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < a.view().elements(); ++i) {
    const double d = std::abs(static_cast<double>(x[i]) - y[i]);
    if (!(d <= worst)) worst = d;  // NaN stays
    largest = std::max(largest, std::abs(static_cast<double>(y[i])));
  }
  return worst / largest;
}

/// The tensor's numbers as fp32.
std::vector<float> as_floats(const HostTensor& tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(tensor.view().elements()));
  load_row(tensor.view(), 0, tensor.view().elements(), numbers.data());
  return numbers;
}

/// |a - b| / |b|, Euclidean; NaN stays.
double relative_difference(std::span<const float> a, std::span<const float> b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    error += d * d;
    norm += static_cast<double>(b[i]) * b[i];
  }
  const double relative = std::sqrt(error / norm);
  return relative == relative ? relative : HUGE_VAL;
}

/// A GPU on which every stage of a layer has a row; else the reason is printed.
std::optional<Device> gpu_with_layers() {
  auto device = gpu_or_skip();
  if (!device) return device;
  const std::array stage{Stage::layer};
  const Support support = supports(*find_variant(stage, "batched", Backend::cuda),
                                   layer_problem(64, Dtype::fp32), *device);
  if (support.supported) return device;
  WARN("skipped: " << support.reason);
  return std::nullopt;
}

}  // namespace

TEST_CASE("on a GPU chunks and decode steps through a cache give what one prefill gives", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  const Problem whole = layer_problem(150, Dtype::fp32);
  Twin twin(*gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get()), pieces(output_of(whole), stream.get());
  attention_layer(twin.context(), whole, twin.device[0].view(), twin.weights(), y.view());
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{70, 1, 1, 40, 1, 37}, {1, 1, 100, 48}, {149, 1}}) {
    KvCache cache(whole, 1, 150, AttentionKind::nsa, device::allocator());
    std::int64_t done = 0;
    for (const std::int64_t length : lengths) {
      Problem p = whole;
      p.seq_lens = {length};
      p.context_lens = {done};
      p.phase = done == 0 ? Phase::prefill : length == 1 ? Phase::decode : Phase::chunked_prefill;
      attention_layer(twin.context(), p, twin.rows(twin.device[0].view(), done, length),
                      twin.weights(), twin.rows(pieces.view(), done, length), &cache);
      done += length;
    }
    CHECK(difference(pieces.download(stream.get()), y.download(stream.get())) < 1e-5);
  }
}

TEST_CASE("on a GPU a window moves to the front of its cache as often as it has to", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  Problem whole = layer_problem(60, Dtype::fp32);
  whole.geometry.window = 7;  // 14 rows are kept: it moves at every seventh step
  Twin twin(*gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get()), steps(output_of(whole), stream.get());
  attention_layer(twin.context(), whole, twin.device[0].view(), twin.weights(), y.view());
  KvCache cache(whole, 1, 60, AttentionKind::nsa, device::allocator());
  for (std::int64_t t = 0; t < 60; ++t) {
    Problem p = whole;
    p.seq_lens = {1};
    p.context_lens = {t};
    p.phase = t == 0 ? Phase::prefill : Phase::decode;
    attention_layer(twin.context(), p, twin.rows(twin.device[0].view(), t, 1), twin.weights(),
                    twin.rows(steps.view(), t, 1), &cache);
  }
  CHECK(difference(steps.download(stream.get()), y.download(stream.get())) < 1e-5);
}

TEST_CASE("a whole layer is a graph that replays right with new inputs", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  const Problem p = layer_problem(130, Dtype::bf16);
  Twin twin(*gpu, p, stream.get());
  const DeviceTensor eager(output_of(p), stream.get()), replayed(output_of(p), stream.get());
  struct Call {
    Twin& twin;
    const Problem& problem;
    TensorView y;
    void run() {
      attention_layer(twin.context(), problem, twin.device[0].view(), twin.weights(), y);
    }
  } call{twin, p, replayed.view()};
  const auto run = [](void* context) { static_cast<Call*>(context)->run(); };
  call.run();  // the workspace grows here, and only here
  twin.workspace.reset();
  const std::int64_t grown = twin.workspace.grow_events();
  const auto graph = probes::capture_graph(*gpu, stream.get(), run, &call);
  const HostTensor other = make_inputs(Stage::layer, p, 77).front();
  device::copy_to_device(twin.device[0].view().data, other.bytes.data(), other.bytes.size(),
                         stream.get());
  graph->launch();
  const auto from_graph = replayed.download(stream.get()).bytes;
  call.y = eager.view();
  call.run();
  CHECK(from_graph == eager.download(stream.get()).bytes);
  CHECK(twin.workspace.grow_events() == grown);
}

namespace {

/// Two sequences of `whole`'s length: prefilled to `lengths`, then decoded to the end by replays of
/// one graph. Returns the largest difference to one prefill of everything.
double replayed_difference(const Device& gpu, Problem whole, std::array<std::int64_t, 2> lengths) {
  const Stream stream;
  const std::int64_t tokens = whole.seq_lens[0];
  Twin twin(gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get());
  attention_layer(twin.context(), whole, twin.device[0].view(), twin.weights(), y.view());
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
        twin.device[0].view().as<char>() + static_cast<std::size_t>(from) * row_bytes,
        static_cast<std::size_t>(count) * row_bytes, stream.get());
  };
  copy_rows(x.view(), 0, 0, lengths[0]);
  copy_rows(x.view(), lengths[0], 0, lengths[1]);
  attention_layer(twin.context(), fill, x.view(), twin.weights(), filled.view(), &caches[0]);

  DecodeLoop loop(twin.context(), config, caches);
  Problem one = whole;
  one.seq_lens = {1, 1};
  one.context_lens = {0, 0};
  const DeviceTensor token(make_inputs(Stage::layer, one, 2).front(), stream.get());
  const DeviceTensor out(output_of(one), stream.get());
  twin.workspace.reset();
  twin.workspace.reserve(workspace_bytes(*twin.router, Stage::layer, loop.problem()));
  const std::int64_t grown = twin.workspace.grow_events();
  struct Step {
    Twin& twin;
    DecodeLoop& loop;
    TensorView x, y;
  } step{twin, loop, token.view(), out.view()};
  const auto graph = probes::capture_graph(
      gpu, stream.get(),
      [](void* context) {
        const Step& s = *static_cast<Step*>(context);
        s.loop.layer_step(s.twin.context(), s.twin.weights(), s.x, s.y);
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
  CHECK(twin.workspace.grow_events() == grown);
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
  INFO(support.reason);
  REQUIRE(gpu.compute_capability.value_or(0) != 90);  // there it has to run
  WARN("skipped: " << support.reason);
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
  Twin twin(*gpu, whole, stream.get());
  ModelConfig config = config_of(whole);
  std::vector<KvCache> caches = make_caches(config, 1, 40, device::allocator());
  Context context = twin.context();
  context.constants.branches = 3;
  CHECK_THROWS_AS(DecodeLoop(context, config, caches), InputError);
  config.attention = AttentionKind::dense;
  CHECK_THROWS_AS(DecodeLoop(twin.context(), config, caches), InputError);
}

TEST_CASE("a layer and a model take no more workspace than is reserved for them", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    Problem p = layer_problem(333, dtype);
    p.seq_lens = {333, 20};
    p.context_lens = {0, 0};
    Twin twin(*gpu, p, stream.get());
    const ModelConfig config = config_of(p);
    twin.workspace.reserve(workspace_bytes(*twin.router, Stage::model, p));
    const auto inputs = upload(make_inputs(Stage::model, p, 3), stream.get());
    const DeviceTensor logits(make_outputs(Stage::model, p).front(), stream.get());
    model_forward(twin.context(), config, p, bind_weights(config, inputs[1].view()),
                  inputs[0].view(), logits.view());
    device::synchronize(stream.get());
    CHECK(twin.workspace.grow_events() == 0);
    CHECK(twin.workspace.peak_bytes() > 0);
  }
}

TEST_CASE("a model on a GPU decodes to what its prefill gives", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  Problem whole = layer_problem(45, Dtype::fp32);
  const ModelConfig config = config_of(whole);
  const auto inputs = upload(make_inputs(Stage::model, whole, 3), stream.get());
  const ModelWeights weights = bind_weights(config, inputs[1].view());
  Twin twin(*gpu, whole, stream.get());
  const HostTensor empty = make_outputs(Stage::model, whole).front();
  const DeviceTensor logits(empty, stream.get()), steps(empty, stream.get());
  model_forward(twin.context(), config, whole, weights, inputs[0].view(), logits.view());
  std::vector<KvCache> caches = make_caches(config, 1, 45, device::allocator());
  std::int64_t done = 0;
  for (const std::int64_t length : {20, 1, 1, 23}) {
    model_forward(twin.context(), config, problem_of(config, {length}, {done}), weights,
                  twin.rows(inputs[0].view(), done, length), twin.rows(steps.view(), done, length),
                  caches);
    done += length;
  }
  CHECK(difference(steps.download(stream.get()), logits.download(stream.get())) < 1e-4);
}

TEST_CASE("the operations between stages are the CPU's, on every type and any alignment", "[gpu]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (const std::int64_t gap : {0, 3}) {
      Problem p = layer_problem(33, dtype);
      p.model.model_dim = gap == 0 ? 264 : 77;
      Twin twin(*gpu, p, stream.get());
      Router::Inputs cpu_inputs;
      const Router cpu_router(std::move(cpu_inputs));
      Workspace cpu_workspace;
      Context cpu;
      cpu.router = &cpu_router;
      cpu.workspace = &cpu_workspace;
      const auto random = [&](std::uint64_t seed) { return make_inputs(Stage::layer, p, seed)[0]; };
      HostTensor x = random(1), delta = random(2), y = random(3);
      HostTensor weight{"w", {dtype, 1, {p.model.model_dim, 0, 0, 0}}, {}};
      weight.bytes.assign(delta.bytes.begin(),
                          delta.bytes.begin() + static_cast<std::ptrdiff_t>(weight.view().bytes()));
      const DeviceTensor gx(x, stream.get(), gap), gd(delta, stream.get(), gap),
          gy(y, stream.get(), gap), gw(weight, stream.get());
      const Context device = twin.context();
      INFO(to_string(dtype) << " gap " << gap);
      const auto check = [&](const HostTensor& want, const DeviceTensor& got) {
        const HostTensor there = got.download(stream.get());
        std::int64_t wrong = 0;
        for (std::int64_t r = 0; r < want.view().shape[0]; ++r) {
          std::vector<double> a(static_cast<std::size_t>(p.model.model_dim)), b(a);
          double error = 0, norm = 0;
          load_row(want.view(), want.view().at(r), p.model.model_dim, a.data());
          load_row(there.view(), there.view().at(r), p.model.model_dim, b.data());
          for (std::size_t i = 0; i < a.size(); ++i) {
            error += (a[i] - b[i]) * (a[i] - b[i]);
            norm += a[i] * a[i];
          }
          wrong += !(std::sqrt(error / norm) <= row_tolerance(Stage::layer, dtype));
        }
        CHECK(wrong == 0);
      };
      cpu_ops().rms_norm(cpu, x.view(), weight.view(), y.view());
      cuda_ops().rms_norm(device, gx.view(), gw.view(), gy.view());
      check(y, gy);
      cpu_ops().add_norm(cpu, x.view(), delta.view(), weight.view(), y.view());
      cuda_ops().add_norm(device, gx.view(), gd.view(), gw.view(), gy.view());
      check(x, gx);
      check(y, gy);
      cpu_ops().silu(cpu, delta.view());
      cuda_ops().silu(device, gd.view());
      check(delta, gd);
    }
  }
}

TEST_CASE("a token outside of the vocabulary is a row of NaN on a GPU", "[gpu]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  const Stream stream;
  const Problem p = layer_problem(4, Dtype::fp32);
  Twin twin(*gpu, p, stream.get());
  const HostTensor table = make_inputs(Stage::layer, layer_problem(30, Dtype::fp32), 8).front();
  const HostTensor empty = make_inputs(Stage::layer, p, 9).front();
  HostTensor tokens{"tokens", {Dtype::int32, 1, {4, 0, 0, 0}}, {}};
  const std::array<std::int32_t, 4> ids{29, 30, 0, -1};
  tokens.bytes.resize(sizeof(ids));
  std::memcpy(tokens.bytes.data(), ids.data(), sizeof(ids));
  const DeviceTensor gt(tokens, stream.get()), gtable(table, stream.get()), gy(empty, stream.get());
  cuda_ops().embed(twin.context(), gt.view(), gtable.view(), gy.view());
  const HostTensor y = gy.download(stream.get());
  const std::int64_t dim = p.model.model_dim;
  const auto *rows = y.view().as<const float>(), *known = table.view().as<const float>();
  for (std::int64_t c = 0; c < dim; ++c) {
    CHECK(rows[c] == known[29 * dim + c]);
    CHECK(std::isnan(rows[dim + c]));
    CHECK(rows[2 * dim + c] == known[c]);
    CHECK(std::isnan(rows[3 * dim + c]));
  }
}
