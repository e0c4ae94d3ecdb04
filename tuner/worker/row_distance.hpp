// How far apart two answers to the same problem are, row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa::tuner {

/// For each row (index of dimension 0) of contiguous outputs how far `a` and `b` are apart in
/// relative L2, of integers the share that differs, in the output where that is the most; 0 where
/// it is no more than `tolerance`. Integers that differ are always too far.
std::vector<double> row_distances(const std::vector<HostTensor>& a,
                                  const std::vector<HostTensor>& b, double tolerance);

/// Rows whose distance is not 0, the farthest first.
std::vector<std::int64_t> rows_apart(std::span<const double> distances);

/// Rows of a contiguous tensor as a tensor of their own; rows that it does not have are left out.
HostTensor rows_of(const HostTensor& whole, std::span<const std::int64_t> rows);
/// Bytes of one row.
std::size_t row_bytes(const TensorShape& shape) noexcept;

/// An element as a number.
double value_of(const std::byte* element, Dtype dtype) noexcept;

}  // namespace nsa::tuner
