// A training step in fp64, written to be read: the reference's layers with what a model has around
// them, and AdamW. Slow; for models of a few thousand parameters.
#pragma once

#include "nsa/kernels/training.hpp"
#include "reference/backward/backward.hpp"

namespace nsa::test {

class ReferenceTraining {
 public:
  /// The model of `config` in fp64, from the same seed. accumulate and checkpoint change nothing
  /// here: a step is one batch of accumulate x batch sequences.
  ReferenceTraining(training::TrainingConfig config, std::uint64_t seed);
  /// One step; tokens [accumulate * batch, seq_len + 1].
  training::StepResult step(std::span<const std::int32_t> tokens);
  /// Loss and gradients only.
  double backward(std::span<const std::int32_t> tokens);
  /// Flat, as make_weights() lays them out.
  const reference::Row& weights() const { return weights_; }
  const reference::Row& gradients() const { return gradients_; }

 private:
  struct Kept;  // of one layer
  void forward_layer(std::size_t layer, reference::Row& x, Kept& kept) const;
  void backward_layer(std::size_t layer, const Kept& kept, reference::Row& d_x);
  double head(const reference::Row& x, std::span<const std::int32_t> targets, reference::Row& d_x);

  training::TrainingConfig config_;
  Problem problem_;
  reference::Row weights_, gradients_, moment1_, moment2_;
  ModelWeights w_, d_;  // views into both
  std::int64_t done_ = 0;
};

}  // namespace nsa::test
