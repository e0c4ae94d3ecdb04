// The whole step: against the fp64 reference, and what it must not depend on.
#include <cmath>
#include <cstring>

#include "catch.hpp"
#include "cpu/convert.hpp"
#include "nsa/kernels/directions.hpp"
#include "relative_l2.hpp"
#include "training/step.hpp"
#include "training_reference.hpp"
#include "training_support.hpp"

namespace nsa::test {
namespace {

using training::Trainer;
using training::TrainingConfig;

std::vector<double> values_of(const Trainer& trainer, const TensorView& view) {
  const std::vector<std::byte> bytes = trainer.read(view);
  TensorView copy = view;
  copy.data = const_cast<std::byte*>(bytes.data());
  return reference::load(copy, 0, copy.elements());
}

/// Gradients of one batch, by parameter.
std::vector<std::vector<double>> gradients_of(const TrainingConfig& config,
                                              std::span<const std::int32_t> tokens) {
  CpuTraining run(config);
  run->replay(tokens, nullptr);
  std::vector<std::vector<double>> all;
  for (const auto& [name, view] : run->gradients()) all.push_back(values_of(*run, view));
  return all;
}

}  // namespace

TEST_CASE("the gradients of every parameter are the reference's", "[training]") {
  TrainingConfig config = tiny_training();
  config.seq_len = GENERATE(37, 3);  // 3: no block is compressed
  const auto tokens = some_tokens(config, 0);
  ReferenceTraining expected(config, 1);
  expected.backward(tokens);
  CpuTraining run(config);
  run->replay(tokens, nullptr);
  std::size_t at = 0;
  reference::Row flat = expected.gradients();
  const ModelWeights d = bind_weights(
      config.model, make_view(flat.data(), Dtype::fp64, {static_cast<std::int64_t>(flat.size())}));
  const std::pair<const char*, TensorView> some[] = {
      {"embedding", d.embedding},
      {"lm_head", d.lm_head},
      {"final_norm", d.final_norm},
      {"layers.0.attention.w_qkv", d.blocks[0].attention.w_qkv},
      {"layers.1.attention.w_o", d.blocks[1].attention.w_o},
      {"layers.0.attention.gate.fc1_w", d.blocks[0].attention.gate.fc1_w},
      {"layers.0.norm1", d.blocks[0].norm1},
      {"layers.1.norm2", d.blocks[1].norm2},
      {"layers.0.mlp.w_up", d.blocks[0].w_up},
      {"layers.1.mlp.w_down", d.blocks[1].w_down}};
  for (const auto& [name, view] : run->gradients()) {
    for (const auto& [known, reference_view] : some) {
      if (name != known) continue;
      ++at;
      INFO(name);
      CHECK(relative_l2(values_of(*run, view),
                        reference::load(reference_view, 0, reference_view.elements())) < 1e-6);
    }
  }
  CHECK(at == std::size(some));
}

TEST_CASE("20 steps in fp64 are the reference's to 1e-6", "[training]") {
  const TrainingConfig config = tiny_training();
  ReferenceTraining expected(config, 1);
  CpuTraining run(config);
  const std::vector<double> losses = run.train(20);
  const auto results = run->results(20);
  for (std::int64_t i = 0; i < 20; ++i) {
    const training::StepResult step = expected.step(some_tokens(config, i));
    INFO("step " << i << ": " << losses[static_cast<std::size_t>(i)] << " for " << step.loss);
    CHECK(std::abs(losses[static_cast<std::size_t>(i)] - step.loss) < 1e-6 * step.loss);
    CHECK(std::abs(results[static_cast<std::size_t>(i)].grad_norm - step.grad_norm) <
          1e-5 * step.grad_norm);
  }
  CHECK(losses.back() < losses.front());
}

TEST_CASE("the gradients of a batch are the sum of those of its sequences", "[training]") {
  TrainingConfig both = tiny_training(), one = both;
  one.batch = 1;
  const auto tokens = some_tokens(both, 5);
  const auto half = static_cast<std::ptrdiff_t>(tokens.size() / 2);
  const auto all = gradients_of(both, tokens);
  const auto first = gradients_of(one, {tokens.data(), static_cast<std::size_t>(half)});
  const auto second = gradients_of(one, {tokens.data() + half, static_cast<std::size_t>(half)});
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> sum = first[i];
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = (sum[k] + second[i][k]) / 2;
    CHECK(relative_l2(sum, all[i]) < 1e-6);
  }
}

TEST_CASE("accumulating N batches is one batch of N", "[training]") {
  TrainingConfig whole = tiny_training(), parts = whole;
  whole.batch = 4;
  parts.batch = 1, parts.accumulate = 4;
  const auto a = CpuTraining(whole).train(5), b = CpuTraining(parts).train(5);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-7 * a[i]);
}

TEST_CASE("activations that are computed again give the same bits", "[training]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16);
  TrainingConfig kept = tiny_training(dtype), again = kept;
  again.checkpoint = {GENERATE(0, 1), 1};
  CpuTraining a(kept), b(again);
  CHECK(a.train(4) == b.train(4));
  CHECK(a.state() == b.state());
}

TEST_CASE("the same steps have the same bits each time", "[training]") {
  const TrainingConfig config = tiny_training(Dtype::fp32);
  CpuTraining a(config), b(config);
  CHECK(a.train(6) == b.train(6));
  CHECK(a.state() == b.state());
}

TEST_CASE("half precision follows fp32", "[training]") {
  const Dtype dtype = GENERATE(Dtype::bf16, Dtype::fp16);
  TrainingConfig config = tiny_training(Dtype::fp32);
  const auto exact = CpuTraining(config).train(60);
  config.model.dtype = dtype;
  config.masters = GENERATE(true, false);
  const auto coarse = CpuTraining(config).train(60);
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    worst = std::max(worst, std::abs(coarse[i] - exact[i]));
  INFO("largest distance " << worst);
  CHECK(worst < 0.1);
  CHECK(worst > 0);  // it is another computation
}

TEST_CASE("dense attention trains too", "[training]") {
  TrainingConfig config = tiny_training(Dtype::fp32);
  config.model.attention = AttentionKind::dense;
  const auto losses = CpuTraining(config).train(30);
  CHECK(losses.back() < losses.front());
}

TEST_CASE("a step runs what is decided for launches that save", "[training]") {
  const TrainingConfig config = tiny_training(Dtype::fp32);
  const auto engaged = [&](std::optional<Direction> decided) {
    Router::Inputs in;
    if (decided) {
      ClassDecisions decisions;
      decisions.problem_class = class_of(training::batch_problem(config, *decided));
      Decision& decision = decisions.decisions.emplace_back();
      decision.stages = {"attend_window"};
      decision.ranges.emplace_back().variant = {{"attend_window"}, "sdpa_math", {}};
      in.table.emplace().classes.push_back(decisions);
      in.table->device = in.device;
    }
    const Router router(std::move(in));
    Telemetry telemetry;
    Context context;
    context.router = &router;
    context.telemetry = &telemetry;
    Trainer trainer(context, config, host_allocator(), 1);
    trainer.step(some_tokens(config, 0));
    for (const auto& [key, calls] : telemetry.report().engaged)
      if (key.first == "attend_window") return key.second;
    return std::string("nothing");
  };
  CHECK(engaged({}) != "sdpa_math");
  CHECK(engaged(kForwardSaving) == "sdpa_math");
  CHECK(engaged(Direction::forward) == "sdpa_math");  // where no table has another one
}

TEST_CASE("weights that are not finite stop training where they are", "[training]") {
  CpuTraining run(tiny_training(Dtype::fp32));
  run.train(2);
  const auto parameters = run->parameters();
  const auto at =
      std::ranges::find_if(parameters, [](const auto& p) { return p.name == "layers.1.mlp.w_up"; });
  REQUIRE(at != parameters.end());
  std::vector<std::byte> bytes = run->read(at->view);
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + 4, &nan, 4);
  run->write(at->view, bytes);
  const auto before = run.state();
  run.train(3);
  CHECK(run->bad_step() == std::optional<std::int64_t>(2));
  CHECK(run.state() == before);
}

TEST_CASE("learning rates are those of the users' program", "[training]") {
  const training::LearningRate cosine{
      .peak = 2, .warmup_steps = 4, .total_steps = 12, .schedule = training::RateSchedule::cosine};
  CHECK(training::rate_of(cosine, 0) == 0.5);
  CHECK(training::rate_of(cosine, 3) == 2);
  CHECK(training::rate_of(cosine, 4) == 2);
  CHECK(std::abs(training::rate_of(cosine, 8) - 1) < 1e-15);
  CHECK(training::rate_of(cosine, 12) == 0);
  CHECK(training::rate_of(cosine, 100) == 0);
  const training::LearningRate linear{
      .peak = 2, .total_steps = 10, .schedule = training::RateSchedule::linear};
  CHECK(std::abs(training::rate_of(linear, 5) - 1) < 1e-15);
  CHECK(training::rate_of({.peak = 3}, 1'000'000) == 3);
}

}  // namespace nsa::test
