// The weights of the gate as kernels get them.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensors.hpp"

namespace nsa::cuda {

/// On the device, in the storage type of the launch.
struct GateMlp {
  const void *fc1_w = nullptr, *fc1_b = nullptr, *fc2_w = nullptr, *fc2_b = nullptr;
  /// Of dimension 0.
  std::int64_t fc1_w_stride = 0, fc1_b_stride = 0, fc2_w_stride = 0, fc2_b_stride = 0;
};

inline GateMlp gate_mlp(const GateWeights& weights) {
  return {.fc1_w = weights.fc1_w.data,
          .fc1_b = weights.fc1_b.data,
          .fc2_w = weights.fc2_w.data,
          .fc2_b = weights.fc2_b.data,
          .fc1_w_stride = weights.fc1_w.stride[0],
          .fc1_b_stride = weights.fc1_b.stride[0],
          .fc2_w_stride = weights.fc2_w.stride[0],
          .fc2_b_stride = weights.fc2_b.stride[0]};
}

}  // namespace nsa::cuda
