// Small models in training, for the tests.
#pragma once

#include <memory>

#include "nsa/kernels/training.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa::test {

/// Two layers, 3 heads a group, widths that no vector fills; 37 tokens make blocks that are not
/// full.
inline training::TrainingConfig tiny_training(Dtype dtype = Dtype::fp64) {
  training::TrainingConfig config;
  ModelConfig& model = config.model;
  model.name = "test";
  model.model_dim = 12, model.layers = 2, model.vocab_size = 11, model.mlp_ratio = 3;
  model.q_heads = 6, model.kv_heads = 2, model.head_dim_k = 8, model.head_dim_v = 4;
  config.model.geometry = {
      .cmp_block = 4, .cmp_stride = 2, .sel_block = 8, .sel_count = 4, .window = 6};
  config.model.dtype = dtype;
  config.seq_len = 37;
  config.batch = 2;
  config.rate = {.peak = 3e-3,
                 .warmup_steps = 3,
                 .total_steps = 30,
                 .schedule = training::RateSchedule::cosine};
  config.optimizer.weight_decay = 0.01;
  return config;
}

/// Tokens of a step, in which the next one can be learned.
inline std::vector<std::int32_t> some_tokens(const training::TrainingConfig& config,
                                             std::int64_t step) {
  std::vector<std::int32_t> tokens;
  const auto vocab = static_cast<std::uint32_t>(config.model.vocab_size);
  for (std::int64_t row = 0; row < config.accumulate * config.batch; ++row) {
    std::uint32_t token = fmix32(static_cast<std::uint32_t>(1000 * step + row)) % vocab;
    for (std::int64_t i = 0; i <= config.seq_len; ++i) {
      tokens.push_back(static_cast<std::int32_t>(token));
      const std::uint32_t noise = fmix32(static_cast<std::uint32_t>(step * 7919 + row * 101 + i));
      token = noise % 4 == 0 ? noise / 4 % vocab : (token * 3 + 1) % vocab;
    }
  }
  return tokens;
}

/// A trainer, wherever it runs, that tests feed with some_tokens().
class TestTraining {
 public:
  training::Trainer& operator*() { return *trainer_; }
  training::Trainer* operator->() { return trainer_.get(); }

  /// Loss of each of `count` steps, enqueued one after the other.
  std::vector<double> train(std::int64_t count) {
    const std::int64_t first = trainer_->steps_done();
    for (std::int64_t i = first; i < first + count; ++i)
      trainer_->step(some_tokens(trainer_->config(), i));
    std::vector<double> losses;
    for (const training::StepResult& result : trainer_->results(count))
      losses.push_back(result.loss);
    return losses;
  }
  /// Bytes of the whole state.
  std::vector<std::vector<std::byte>> state() const {
    std::vector<std::vector<std::byte>> all;
    for (auto& part : trainer_->state()) all.push_back(std::move(part.bytes));
    return all;
  }

 protected:
  ~TestTraining() = default;
  std::unique_ptr<training::Trainer> trainer_;
};

/// On the CPU, with what it borrows.
class CpuTraining : public TestTraining {
 public:
  explicit CpuTraining(const training::TrainingConfig& config, std::uint64_t seed = 1)
      : router_(Router::Inputs{}) {
    Context context;
    context.router = &router_;
    trainer_ = std::make_unique<training::Trainer>(context, config, host_allocator(), seed);
  }
  ~CpuTraining() { trainer_.reset(); }  // it borrows the router
  const Router& router() const { return router_; }

 private:
  Router router_;
};

}  // namespace nsa::test
