// A whole training step on a device: against the CPU's, and what it must not depend on.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "../kernels/training_support.hpp"
#include "gpu.hpp"
#include "nsa/kernels/dense_by_cudnn.hpp"
#include "nsa/kernels/telemetry.hpp"
#include "nsa/kernels/training_checkpoint.hpp"
#include "nsa/probes/graph.hpp"

using namespace nsa;
using namespace nsa::test;
using training::Trainer;
using training::TrainingConfig;
using training::TrainingMemory;

namespace {

Router::Inputs inputs_of(const Device& gpu, ApiOverrides wishes) {
  Router::Inputs inputs;
  inputs.device = gpu;
  inputs.api = std::move(wishes);
  return inputs;
}

/// On the device, with what it borrows.
class GpuTraining : public TestTraining {
 public:
  GpuTraining(const Device& gpu, const TrainingConfig& config, std::uint64_t seed = 1,
              ApiOverrides wishes = {})
      : device_(gpu), router_(inputs_of(gpu, std::move(wishes))) {
    Context context;
    context.router = &router_;
    context.stream = stream_.get();
    trainer_ = std::make_unique<Trainer>(context, config, nan_filled_memory(), seed);
  }
  ~GpuTraining() { trainer_.reset(); }  // it borrows what follows
  const Router& router() const { return router_; }

  /// The steps that follow are replays of a graph.
  void use_graph() {
    trainer_->use_graph([this](const std::function<void()>& launch) {
      launch_ = launch;
      graph_ = probes::capture_graph(
          device_, stream_.get(),
          [](void* body) { (*static_cast<const std::function<void()>*>(body))(); }, &launch_);
      return [this] { graph_->launch(); };
    });
  }

 private:
  Device device_;
  Stream stream_;
  Router router_;
  std::function<void()> launch_;
  std::unique_ptr<probes::GraphReplay> graph_;
};

/// Two layers with heads that tensor cores take, over blocks and windows that are not full.
TrainingConfig small_training(Dtype dtype) {
  TrainingConfig config = tiny_training(dtype);
  config.model.model_dim = 64, config.model.vocab_size = 256;
  config.model.q_heads = 4, config.model.kv_heads = 2;
  config.model.head_dim_k = config.model.head_dim_v = 32;
  config.model.geometry = {
      .cmp_block = 16, .cmp_stride = 8, .sel_block = 32, .sel_count = 4, .window = 48};
  config.seq_len = 300;
  return config;
}

/// As the window's rows see dense attention.
Problem batch_of(const TrainingConfig& config) {
  const auto batch = static_cast<std::size_t>(config.batch);
  Problem p = problem_of(config.model, std::vector<std::int64_t>(batch, config.seq_len),
                         std::vector<std::int64_t>(batch, 0));
  p.geometry.window = config.seq_len;
  return p;
}

double worst_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("step " << i << ": " << a[i] << " and " << b[i]);
    CHECK(std::isfinite(a[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

}  // namespace

TEST_CASE("20 steps of fp32 on a device are the CPU's of fp64", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  for (TrainingConfig config : {tiny_training(Dtype::fp32), small_training(Dtype::fp32)}) {
    GpuTraining run(*gpu, config);
    const auto got = run.train(20);
    const auto norms = run->results(20);
    config.model.dtype = Dtype::fp64;
    CpuTraining exact(config);
    const auto want = exact.train(20);
    const auto want_norms = exact->results(20);
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("step " << i << ": " << got[i] << " for " << want[i]);
      CHECK(std::abs(got[i] - want[i]) < 1e-4 * want[i]);
      CHECK(std::abs(norms[i].grad_norm - want_norms[i].grad_norm) <
            1e-3 * want_norms[i].grad_norm);
    }
    CHECK(got.back() < got.front());
  }
}

TEST_CASE("gradients of a batch on a device are the CPU's", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(Dtype::fp32);
  config.seq_len = GENERATE(300, 7);  // 7: no block is compressed
  GpuTraining run(*gpu, config);
  CpuTraining exact(config);
  const auto tokens = some_tokens(config, 3);
  run->replay(tokens, nullptr);
  exact->replay(tokens, nullptr);
  const auto got = run->gradients(), want = exact->gradients();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto a = run->read(got[i].view), b = exact->read(want[i].view);
    double difference = 0, norm = 0;
    for (std::size_t at = 0; at < a.size(); at += 4) {
      float x = 0, y = 0;
      std::memcpy(&x, a.data() + at, 4);
      std::memcpy(&y, b.data() + at, 4);
      difference += (x - y) * (x - y), norm += y * y;
    }
    INFO(got[i].name << " " << std::sqrt(difference) << " of " << std::sqrt(norm));
    CHECK(std::sqrt(difference) <= 1e-3 * std::sqrt(norm) + 1e-9);
  }
}

TEST_CASE("half precision on a device follows fp32 on the CPU", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(Dtype::fp32);
  const auto exact = CpuTraining(config).train(20);
  config.masters = GENERATE(true, false);
  config.model.dtype = GENERATE(Dtype::bf16, Dtype::fp16);
  const auto coarse = GpuTraining(*gpu, config).train(20);
  const double worst = worst_distance(coarse, exact);
  INFO("largest distance " << worst);
  CHECK(worst < 0.1);
  CHECK(worst > 0);
  CHECK(coarse.back() < coarse.front());
}

TEST_CASE("dense attention trains on a device as on the CPU", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(Dtype::fp32);
  config.model.attention = AttentionKind::dense;
  CHECK(worst_distance(GpuTraining(*gpu, config).train(8), CpuTraining(config).train(8)) < 1e-3);
}

TEST_CASE("dense attention by cuDNN trains as the CPU's dense attention", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(Dtype::fp32);
  config.model.attention = AttentionKind::dense;
  const auto exact = CpuTraining(config).train(20);
  config.model.dtype = Dtype::bf16;
  config.deterministic = GENERATE(true, false);
  GpuTraining run(*gpu, config, 1, dense_by_cudnn(config.deterministic));
  Problem dense = batch_of(config);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    dense.direction = direction;
    const Choice choice = run.router().choose(Stage::attend_window, dense);
    if (choice.source == Source::api) continue;
    WARN("skipped: " << (choice.fallback_reason ? choice.fallback_reason : "no row of cuDNN"));
    return;
  }
  Telemetry backward;
  run->count_backward(&backward);
  const auto coarse = run.train(20);
  CHECK(worst_distance(coarse, exact) < 0.1);
  CHECK(coarse.back() < coarse.front());
  const auto engaged = backward.report().engaged;
  CHECK(engaged.at({"attend_window", config.deterministic ? "sdpa_ordered" : "sdpa"}) ==
        20 * config.model.layers);
}

TEST_CASE(
    "steps on a device have the same bits each time, kept or computed again, eager or as a graph",
    "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(GENERATE(Dtype::bf16, Dtype::fp32));
  config.accumulate = GENERATE(1, 2);
  GpuTraining first(*gpu, config), second(*gpu, config);
  const auto losses = first.train(12);
  CHECK(second.train(12) == losses);
  CHECK(second.state() == first.state());

  TrainingConfig again = config;
  again.checkpoint = {0, 0};
  GpuTraining checkpointed(*gpu, again);
  CHECK(checkpointed.train(12) == losses);
  CHECK(checkpointed.state() == first.state());

  GpuTraining replayed(*gpu, config);
  replayed.train(2);
  replayed.use_graph();
  replayed.train(10);
  CHECK(replayed.state() == first.state());
}

TEST_CASE("accumulating batches on a device is one batch of all", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig whole = small_training(Dtype::fp32), parts = whole;
  whole.batch = 4;
  parts.batch = 1, parts.accumulate = 4;
  CHECK(worst_distance(GpuTraining(*gpu, whole).train(5), GpuTraining(*gpu, parts).train(5)) <
        1e-4);
}

TEST_CASE("the memory of a step on a device is predicted within 5 %, and nothing grows",
          "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  TrainingConfig config = small_training(Dtype::bf16);
  config.model.model_dim = 768;
  config.model.q_heads = 12;
  config.model.head_dim_k = config.model.head_dim_v = 64;
  config.model.attention = GENERATE(AttentionKind::nsa, AttentionKind::dense);
  // So large that the 32 MB with which a product counts, whatever it takes, are not 5 %.
  config.model.layers = 10;
  config.seq_len = 1024;
  config.checkpoint.last = GENERATE(-1, 2);
  GpuTraining run(*gpu, config);
  const TrainingMemory predicted = training::predict_memory(run.router(), config);
  run.train(2);
  const TrainingMemory measured = run->memory();
  INFO("predicted " << predicted.activations << " + " << predicted.workspace << ", measured "
                    << measured.activations << " + " << measured.workspace << ", all "
                    << predicted.peak() << " and " << measured.peak());
  CHECK(predicted.activations == measured.activations);
  const auto ratio = static_cast<double>(predicted.peak()) / static_cast<double>(measured.peak());
  CHECK(ratio > 0.95);
  CHECK(ratio < 1.05);
  CHECK(run->grow_events() == 0);
}

TEST_CASE("weights on a device that are not finite stop training where they are",
          "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  GpuTraining run(*gpu, small_training(Dtype::bf16));
  run.train(2);
  const auto weights = run->parameters().front();  // of the embedding
  std::vector<std::byte> bytes = run->read(weights.view);
  bytes[1001] = std::byte{0x7f}, bytes[1000] = std::byte{0xc0};  // NaN
  run->write(weights.view, bytes);
  const auto before = run.state();
  run.train(3);
  CHECK(run->bad_step() == std::optional<std::int64_t>(2));
  CHECK(run.state() == before);
}

TEST_CASE("a run on a device goes on from its checkpoint bit for bit", "[gpu][training]") {
  const auto gpu = gpu_or_skip();
  if (!gpu) return;
  std::string folder = (std::filesystem::temp_directory_path() / "nsa_training_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()));
  const TrainingConfig config = small_training(Dtype::bf16);
  GpuTraining whole(*gpu, config), first(*gpu, config), second(*gpu, config, 99);
  const auto losses = whole.train(6);
  first.train(3);
  training::save_checkpoint(folder, *first, {});
  training::load_checkpoint(folder, *second);
  CHECK(second.train(3) == std::vector<double>(losses.begin() + 3, losses.end()));
  CHECK(second.state() == whole.state());
  std::filesystem::remove_all(folder);
}
