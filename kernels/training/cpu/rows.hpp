// Rows of a matrix in the type that is computed in, and gradients that are added or written.
#pragma once

#include <vector>

#include "cpu/accumulator.hpp"
#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"
#include "training/ops.hpp"

namespace nsa::training::cpu {

inline constexpr std::int64_t kRowsPerPiece = 16;

/// body(row, T* scratch) for every row, in parallel; `scratch` has `columns` elements.
template <class T, class Body>
void for_rows(std::int64_t rows, std::int64_t columns, const Body& body) {
  parallel_for(0, rows, kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> scratch(static_cast<std::size_t>(columns));
    for (std::int64_t r = begin; r < end; ++r) body(r, scratch.data());
  });
}

/// Writes `values` to elements [offset, offset + count) of a gradient, or adds them; `values` is
/// overwritten. `scratch` has `count` elements.
template <class T>
void write(const Gradient& gradient, std::int64_t offset, std::int64_t count, T* values,
           T* scratch) {
  if (gradient.add) {
    load_row(gradient.to, offset, count, scratch);
    for (std::int64_t i = 0; i < count; ++i) values[i] += scratch[i];
  }
  store_row(gradient.to, offset, count, values);
}

}  // namespace nsa::training::cpu
