// How many numbers all projections of a token are.
#pragma once

#include <cstdint>

namespace nsa {

/// Rows of w_qkv, which are the columns of the product: all heads of q and of the three K and V.
/// `sizes`: a Problem or a ModelConfig.
template <class Sizes>
constexpr std::int64_t qkv_rows(const Sizes& sizes) noexcept {
  return sizes.q_heads * sizes.head_dim_k +
         3 * sizes.kv_heads * (sizes.head_dim_k + sizes.head_dim_v);
}

}  // namespace nsa
