// What workspace reserves stand for in bytes: the runtime takes them, the tuner keeps them within
// the device's memory.
#pragma once

#include <cstdint>

#include "nsa/schemas/types.hpp"

namespace nsa {

/// Bytes of packed selections of one KV head.
struct ReserveBytes {
  double token;  // K and V of one token
  double row;    // queries and outputs of one row: all heads of a group

  ReserveBytes(std::int64_t heads_per_group, std::int64_t head_dim_k, std::int64_t head_dim_v,
               Dtype dtype)
      : token(static_cast<double>(head_dim_k + head_dim_v) * static_cast<double>(size_of(dtype))),
        row(static_cast<double>(heads_per_group) * token) {}

  /// `n` rows whose selections hold `k` tokens in all.
  double varlen(std::int64_t n, std::int64_t k) const {
    return static_cast<double>(n) * row + static_cast<double>(k) * token;
  }
  /// `n` rows of `length` tokens each.
  double packed(std::int64_t n, std::int64_t length) const {
    return static_cast<double>(n) * (row + static_cast<double>(length) * token);
  }
};

}  // namespace nsa
