// Sizes of what training holds, and the names of its parameters.
#pragma once

#include "nsa/kernels/training.hpp"

namespace nsa::training {

/// Type of gradients, moments and masters: fp32, or fp64 for an fp64 model.
Dtype state_dtype(const ModelConfig& config) noexcept;
/// Whether the optimizer moves wider numbers than the weights.
bool has_masters(const TrainingConfig& config) noexcept;
/// Bytes of a master beside its weight: the lower half of fp32 beside bf16, all of it beside fp16.
std::size_t master_bytes(Dtype weights) noexcept;

/// What a step takes beside its state.
struct StepBytes {
  std::size_t between = 0;    // kept from the forward pass to the backward pass
  std::size_t kept_peak = 0;  // of that memory at the peak
  std::size_t block = 0;      // that memory, with the gradients of the weights where they share it
  std::size_t scratch = 0;    // the arena at its peak
};
/// Gradients of weights share the memory of activations: where a step is one batch, those of a
/// layer are written when the activations of the layers after it are not needed any more.
bool gradients_share(const TrainingConfig& config) noexcept;
/// The step itself, run without memory and without work.
StepBytes step_bytes(const Router& router, const TrainingConfig& config,
                     const AttentionOptions& options);
/// All that is held, by parts; gradients that share count with what they take beside activations.
TrainingMemory memory_of(const TrainingConfig& config, const StepBytes& step) noexcept;
/// Of what the host sends each step: numbers, tokens, targets.
std::int64_t inputs_bytes(const TrainingConfig& config) noexcept;

/// Views of a flat tensor of parameter_count elements: "embedding", "layers.0.norm1",
/// "layers.0.attention.w_qkv", ..., "final_norm", "lm_head".
std::vector<Trainer::NamedTensor> named_parameters(const ModelConfig& config,
                                                   const TensorView& flat);

}  // namespace nsa::training
