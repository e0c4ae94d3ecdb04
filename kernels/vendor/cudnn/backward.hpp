// The backward pass of cuDNN's fused attention.
#pragma once

#include "vendor/cudnn/sdpa.hpp"

namespace nsa::vendor {

/// One launch, and the key of its plan.
struct SdpaBackwardShape {
  SdpaShape attend;
  SdpaStrides d_o, d_q, d_k, d_v;
  bool deterministic = false;  // takes the gradients of all weights of all heads as workspace
  auto operator<=>(const SdpaBackwardShape&) const = default;
};

struct SdpaBackwardData {
  const void *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr, *d_o = nullptr;
  const float* lse = nullptr;  // [batch, q_heads, q_len], natural logarithm
  void *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
};

/// Why there is no backward pass here; empty where there is.
const std::string& sdpa_backward_missing();

/// As run_sdpa.
void run_sdpa_backward(const SdpaBackwardShape& shape, const SdpaBackwardData& data,
                       Workspace& workspace, CUstream_st* stream);

}  // namespace nsa::vendor
