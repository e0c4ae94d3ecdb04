// Sizes of the backward kernels of the gate: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::gate_combine {

/// Rows (token, KV head) of a thread block at a time, and its threads.
inline constexpr int kBackwardRows = 16, kBackwardThreads = 256;
/// Thread blocks at most: each has a copy of the weights' gradients, which are added up in order.
inline constexpr int kBackwardBlocks = 264;

/// Units of the gate's hidden layer (docs/nsa.md 8).
inline std::int64_t hidden_units(const Problem& p) {
  return p.head_dim_k < 4 ? 1 : p.head_dim_k / 2;
}

/// Numbers of one copy of the weights' gradients: fc1_w, fc1_b, fc2_w, fc2_b one after another.
constexpr std::int64_t gate_gradient_numbers(std::int64_t dk, std::int64_t hidden) {
  return hidden * dk + hidden + 3 * hidden + 3;
}
/// Shared memory of a block in floats: fc1_w, fc1_b, fc2_w, fc2_b; mean, before, act, d_before,
/// d_mean and the gradients of the logits of each row.
constexpr std::int64_t gate_backward_floats(std::int64_t dk, std::int64_t hidden) {
  return hidden * (dk + 1) + 4 * hidden + 4 + kBackwardRows * (2 * dk + 3 * hidden + 4);
}

}  // namespace nsa::gate_combine
