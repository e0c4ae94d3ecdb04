// How a batch is given to cuDNN: by runs of sequences that are alike and lie at equal distances.
#pragma once

#include <span>

#include "nsa/kernels/launch.hpp"
#include "vendor/cudnn/sdpa.hpp"
#include "vendor/cudnn/window_keys.hpp"

namespace nsa::vendor {

template <class T>
T* row(const TensorView& tensor, std::int64_t index) {
  return reinterpret_cast<T*>(tensor.as<char>() +
                              index * tensor.stride[0] *
                                  static_cast<std::int64_t>(size_of(tensor.dtype)));
}

/// Strides of a run of sequences that lie `rows` rows apart.
inline SdpaStrides strides_of(const TensorView& tensor, std::int64_t rows) {
  return {rows * tensor.stride[0], tensor.stride[0], tensor.stride[1]};
}

/// How many sequences from the first one on are alike and lie at equal distances.
inline std::size_t alike(std::span<const Sequence> all) {
  const auto like_first = [&](std::size_t i) {
    const Sequence &a = all[0], &b = all[1], &s = all[i];
    const auto n = static_cast<std::int64_t>(i);
    return s.q_len == a.q_len && s.kv_len == a.kv_len &&
           s.q_begin == a.q_begin + n * (b.q_begin - a.q_begin) &&
           s.kv_begin == a.kv_begin + n * (b.kv_begin - a.kv_begin);
  };
  std::size_t count = 1;
  while (count < all.size() && like_first(count)) ++count;
  return count;
}

/// Calls f with each run of sequences that have queries.
template <class F>
void for_each_run(std::span<const Sequence> rest, F f) {
  while (!rest.empty()) {
    const std::size_t count = rest[0].q_len == 0 ? 1 : alike(rest);
    if (rest[0].q_len > 0) f(rest.first(count));
    rest = rest.subspan(count);
  }
}

/// What all runs of a launch share.
inline SdpaShape shape_of(const Problem& p, int device) {
  SdpaShape shape;
  shape.device = device;
  shape.dtype = p.dtype;
  shape.q_heads = p.q_heads;
  shape.kv_heads = p.kv_heads;
  shape.dk = p.head_dim_k;
  shape.dv = p.head_dim_v;
  return shape;
}

}  // namespace nsa::vendor
