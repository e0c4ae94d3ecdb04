// Sizes of what training holds, and the names of its parameters.
#pragma once

#include "nsa/kernels/training.hpp"

namespace nsa::training {

/// Type of gradients, moments and masters: fp32, or fp64 for an fp64 model.
Dtype state_dtype(const ModelConfig& config) noexcept;
/// Whether there are wider copies of the weights.
bool has_masters(const TrainingConfig& config) noexcept;
/// Weights, gradients, optimizer and inputs.
TrainingMemory held_bytes(const TrainingConfig& config) noexcept;
/// Of what the host sends each step: numbers, tokens, targets.
std::int64_t inputs_bytes(const TrainingConfig& config) noexcept;

/// Views of a flat tensor of parameter_count elements: "embedding", "layers.0.norm1",
/// "layers.0.attention.w_qkv", ..., "final_norm", "lm_head".
std::vector<Trainer::NamedTensor> named_parameters(const ModelConfig& config,
                                                   const TensorView& flat);

}  // namespace nsa::training
