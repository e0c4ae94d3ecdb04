// The softmax between the products of sdpa_math backward.
#pragma once

#include "vendor/math/softmax.hpp"

namespace nsa::vendor {

/// Gradients of weights, fp32, in `tile`, become those of logits: the same memory, in the problem's
/// dtype, each row at its start. `weights` is where softmax_in_place left them, by the tile's
/// strides.
void d_softmax_in_place(const LogitTile& tile, const float* weights, Dtype dtype,
                        CUstream_st* stream);

}  // namespace nsa::vendor
