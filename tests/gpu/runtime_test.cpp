// The runtime on a device: caches, a layer as a graph, its workspace, the model.
#include <cmath>

#include "gpu_layer.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/probes/graph.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

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

}  // namespace

TEST_CASE("on a GPU chunks and decode steps through a cache give what one prefill gives", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  const Problem whole = layer_problem(150, Dtype::fp32);
  GpuLayer gpu_layer(*gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get()), pieces(output_of(whole), stream.get());
  attention_layer(gpu_layer.context(), whole, gpu_layer.weights(),
                  {.x = gpu_layer.device[0].view(), .y = y.view()});
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{70, 1, 1, 40, 1, 37}, {1, 1, 100, 48}, {149, 1}}) {
    KvCache cache(whole, 1, 150, AttentionKind::nsa, device::allocator());
    std::int64_t done = 0;
    for (const std::int64_t length : lengths) {
      Problem p = whole;
      p.seq_lens = {length};
      p.context_lens = {done};
      p.phase = done == 0 ? Phase::prefill : length == 1 ? Phase::decode : Phase::chunked_prefill;
      attention_layer(gpu_layer.context(), p, gpu_layer.weights(),
                      {.x = gpu_layer.rows(gpu_layer.device[0].view(), done, length),
                       .y = gpu_layer.rows(pieces.view(), done, length)},
                      &cache);
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
  GpuLayer gpu_layer(*gpu, whole, stream.get());
  const DeviceTensor y(output_of(whole), stream.get()), steps(output_of(whole), stream.get());
  attention_layer(gpu_layer.context(), whole, gpu_layer.weights(),
                  {.x = gpu_layer.device[0].view(), .y = y.view()});
  KvCache cache(whole, 1, 60, AttentionKind::nsa, device::allocator());
  for (std::int64_t t = 0; t < 60; ++t) {
    Problem p = whole;
    p.seq_lens = {1};
    p.context_lens = {t};
    p.phase = t == 0 ? Phase::prefill : Phase::decode;
    attention_layer(gpu_layer.context(), p, gpu_layer.weights(),
                    {.x = gpu_layer.rows(gpu_layer.device[0].view(), t, 1),
                     .y = gpu_layer.rows(steps.view(), t, 1)},
                    &cache);
  }
  CHECK(difference(steps.download(stream.get()), y.download(stream.get())) < 1e-5);
}

TEST_CASE("a whole layer is a graph that replays right with new inputs", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  const Problem p = layer_problem(130, Dtype::bf16);
  GpuLayer gpu_layer(*gpu, p, stream.get());
  const DeviceTensor eager(output_of(p), stream.get()), replayed(output_of(p), stream.get());
  struct Call {
    GpuLayer& gpu_layer;
    const Problem& problem;
    TensorView y;
    void run() {
      attention_layer(gpu_layer.context(), problem, gpu_layer.weights(),
                      {.x = gpu_layer.device[0].view(), .y = y});
    }
  } call{gpu_layer, p, replayed.view()};
  const auto run = [](void* context) { static_cast<Call*>(context)->run(); };
  call.run();  // the workspace grows here, and only here
  gpu_layer.workspace.reset();
  const std::int64_t grown = gpu_layer.workspace.grow_events();
  const auto graph = probes::capture_graph(*gpu, stream.get(), run, &call);
  const HostTensor other = make_inputs(Stage::layer, p, 77).front();
  device::copy_to_device(gpu_layer.device[0].view().data, other.bytes.data(), other.bytes.size(),
                         stream.get());
  graph->launch();
  const auto from_graph = replayed.download(stream.get()).bytes;
  call.y = eager.view();
  call.run();
  CHECK(from_graph == eager.download(stream.get()).bytes);
  CHECK(gpu_layer.workspace.grow_events() == grown);
}

TEST_CASE("a layer and a model take no more workspace than is reserved for them", "[gpu]") {
  const auto gpu = gpu_with_layers();
  if (!gpu) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    Problem p = layer_problem(333, dtype);
    p.seq_lens = {333, 20};
    p.context_lens = {0, 0};
    GpuLayer gpu_layer(*gpu, p, stream.get());
    const ModelConfig config = config_of(p);
    gpu_layer.workspace.reserve(workspace_bytes(*gpu_layer.router, Stage::model, p));
    const auto inputs = upload(make_inputs(Stage::model, p, 3), stream.get());
    const DeviceTensor logits(make_outputs(Stage::model, p).front(), stream.get());
    model_forward(gpu_layer.context(), config, p, bind_weights(config, inputs[1].view()),
                  inputs[0].view(), logits.view());
    device::synchronize(stream.get());
    CHECK(gpu_layer.workspace.grow_events() == 0);
    CHECK(gpu_layer.workspace.peak_bytes() > 0);
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
  GpuLayer gpu_layer(*gpu, whole, stream.get());
  const HostTensor empty = make_outputs(Stage::model, whole).front();
  const DeviceTensor logits(empty, stream.get()), steps(empty, stream.get());
  model_forward(gpu_layer.context(), config, whole, weights, inputs[0].view(), logits.view());
  std::vector<KvCache> caches = make_caches(config, 1, 45, device::allocator());
  std::int64_t done = 0;
  for (const std::int64_t length : {20, 1, 1, 23}) {
    model_forward(gpu_layer.context(), config, problem_of(config, {length}, {done}), weights,
                  gpu_layer.rows(inputs[0].view(), done, length),
                  gpu_layer.rows(steps.view(), done, length), caches);
    done += length;
  }
  CHECK(difference(steps.download(stream.get()), logits.download(stream.get())) < 1e-4);
}
