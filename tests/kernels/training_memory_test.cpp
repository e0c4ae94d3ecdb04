// The memory model against what a step takes.
#include <cmath>

#include "catch.hpp"
#include "training_support.hpp"

namespace nsa::test {
namespace {

using training::TrainingConfig;
using training::TrainingMemory;

void check_prediction(const TrainingConfig& config) {
  CpuTraining run(config);
  const TrainingMemory predicted = training::predict_memory(run.router(), config);
  run.train(2);
  const TrainingMemory measured = run->memory();
  INFO("predicted " << predicted.activations << " + " << predicted.workspace << ", measured "
                    << measured.activations << " + " << measured.workspace);
  CHECK(predicted.activations == measured.activations);
  const auto ratio = static_cast<double>(predicted.peak()) / static_cast<double>(measured.peak());
  CHECK(ratio > 0.95);
  CHECK(ratio < 1.05);
  CHECK(run->grow_events() == 0);
}

}  // namespace

TEST_CASE("the memory of a step is predicted within 5 %, and nothing grows", "[training]") {
  TrainingConfig config = tiny_training(GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp64));
  config.seq_len = GENERATE(37, 300);
  config.checkpoint.last = GENERATE(-1, 0, 1);
  config.accumulate = GENERATE(1, 2);
  check_prediction(config);
}

TEST_CASE("a model with wide heads and many tokens is predicted too", "[training]") {
  TrainingConfig config = tiny_training(GENERATE(Dtype::fp32, Dtype::bf16));
  config.model.model_dim = 64;
  config.model.vocab_size = 5000;
  config.model.head_dim_k = config.model.head_dim_v = 32;
  config.model.attention = GENERATE(AttentionKind::nsa, AttentionKind::dense);
  config.seq_len = 257;
  check_prediction(config);
}

TEST_CASE("a step of many batches is predicted as fast as one of two", "[training]") {
  TrainingConfig config = tiny_training(Dtype::fp32);
  const Router router(Router::Inputs{});
  config.accumulate = 2;
  const TrainingMemory two = training::predict_memory(router, config);
  config.accumulate = std::int64_t{1} << 20;  // one after another, that would take minutes
  const TrainingMemory many = training::predict_memory(router, config);
  CHECK(many.activations == two.activations);
  CHECK(many.workspace == two.workspace);
  CHECK(many.gradients == two.gradients);
  CHECK(many.inputs > two.inputs);
}

TEST_CASE("checkpointing takes less memory, and less the more layers it holds", "[training]") {
  TrainingConfig config = tiny_training(Dtype::fp32);
  config.model.layers = 6;
  config.seq_len = 200;
  const Router router(Router::Inputs{});
  std::int64_t before = training::predict_memory(router, config).peak();
  for (const std::int64_t last : {1, 3, 5}) {
    config.checkpoint = {0, last};
    const std::int64_t now = training::predict_memory(router, config).peak();
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("the memory of a step on a GPU is predicted where there is none", "[training]") {
  Router::Inputs inputs;
  inputs.device.id = "cuda:0";
  inputs.device.backend = Backend::cuda;
  inputs.device.compute_capability = 90;
  inputs.device.multiprocessors = 132;
  inputs.review = true;
  const Router router(std::move(inputs));
  TrainingConfig config;
  config.model.dtype = GENERATE(Dtype::bf16, Dtype::fp32);
  const TrainingMemory one = training::predict_memory(router, config);
  INFO("activations " << one.activations << ", workspace " << one.workspace << ", all "
                      << one.peak());
  const auto count = parameter_count(config.model);
  CHECK(one.gradients < 4 * count);  // most of them lie where activations were
  CHECK(one.activations > 0);
  config.batch = 2;
  const TrainingMemory two = training::predict_memory(router, config);
  CHECK(two.weights == one.weights);
  CHECK(two.activations == 2 * one.activations);
  CHECK(two.workspace > one.workspace);
  config.accumulate = 2;
  CHECK(training::predict_memory(router, config).gradients == 4 * count);
  config = tiny_training(config.model.dtype);
  CHECK(training::predict_memory(router, config).activations > 0);
}

TEST_CASE("gradients lie where activations were, and not where some still are", "[training]") {
  TrainingConfig config = tiny_training(Dtype::fp64);
  config.seq_len = GENERATE(8, 64, 400);  // from less activations than gradients to more
  config.checkpoint.last = GENERATE(-1, 0, 1);
  config.batch = 2;
  CpuTraining shared(config);
  shared.train(1);
  config.batch = 1;
  config.accumulate = 2;  // the same tokens; gradients by themselves
  CpuTraining apart(config);
  apart.train(1);
  const auto ours = shared->gradients(), theirs = apart->gradients();
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO(ours[i].name);
    const auto a = shared->read(ours[i].view), b = apart->read(theirs[i].view);
    double difference = 0, norm = 0;
    for (std::int64_t at = 0; at < ours[i].view.elements(); ++at) {
      const double x = reinterpret_cast<const double*>(a.data())[at];
      const double y = reinterpret_cast<const double*>(b.data())[at];
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    CHECK(std::sqrt(difference) <= 1e-9 * std::sqrt(norm) + 1e-15);
  }
}

}  // namespace nsa::test
