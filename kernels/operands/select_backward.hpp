// Tensors of the backward pass of compression by name.
#pragma once

#include <array>

#include "nsa/kernels/launch.hpp"

namespace nsa {

/// compress
struct CompressBackwardTensors {
  /// Places among the outputs of a launch.
  enum Output : std::size_t { kDK, kDV };

  KvTensors d_pooled;  // [compressed_tokens, kv_heads, d]
  KvTensors d_raw;     // out [context_tokens, kv_heads, d]; may be absent

  static CompressBackwardTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 2 && args.out.size() == 2,
            "the gradients of both pooled, and of k and v");
    return {.d_pooled = {.k = args.in[0], .v = args.in[1]},
            .d_raw = {.k = args.out[kDK], .v = args.out[kDV]}};
  }
  std::array<TensorView, 2> in() const { return {d_pooled.k, d_pooled.v}; }
  std::array<TensorView, 2> out() const { return {d_raw.k, d_raw.v}; }
};

}  // namespace nsa
