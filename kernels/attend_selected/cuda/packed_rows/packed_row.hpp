// A row of a list, for the host and the device.
#pragma once

#include <cstdint>

namespace nsa::cuda {

/// Which row a packed row is, and where its keys lie: begin .. begin + length - 1 of the copies.
struct PackedRow {
  std::int64_t begin;
  int row;  // token * kv_heads + kv_head
  int length;
};

}  // namespace nsa::cuda
