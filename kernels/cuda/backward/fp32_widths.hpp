// Which width of the fp32 tiles holds the head dims.
#pragma once

#include <type_traits>

#include "cuda/backward/tile.hpp"
#include "cuda/flash/attend_params.hpp"

namespace nsa::cuda {

/// Calls f(width of K and of V) as an integral constant.
template <class F>
void with_fp32_width(const AttendParams& a, F f) {
  switch (backward_tile(Dtype::fp32, a.dk, a.dv).width_k) {
    case 64:
      return f(std::integral_constant<int, 64>{});
    case 128:
      return f(std::integral_constant<int, 128>{});
    default:
      return f(std::integral_constant<int, 256>{});
  }
}

}  // namespace nsa::cuda
