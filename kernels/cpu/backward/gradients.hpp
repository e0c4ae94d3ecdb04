// Gradients on their way out: rows that a kernel has in the type that it computes in.
#pragma once

#include <cstdint>

#include "cpu/convert.hpp"
#include "nsa/kernels/tensor.hpp"

namespace nsa::cpu {

/// Writes `values` at element `offset`, or adds them to what is there and rounds the sum once.
/// `room`: [count], not read. Does nothing where the view is absent.
template <class T>
void store_gradient(const TensorView& view, std::int64_t offset, std::int64_t count,
                    const T* values, bool add, T* room) {
  if (!view) return;
  if (!add) return store_row(view, offset, count, values);
  load_row(view, offset, count, room);
  for (std::int64_t i = 0; i < count; ++i) room[i] += values[i];
  store_row(view, offset, count, room);
}

}  // namespace nsa::cpu
