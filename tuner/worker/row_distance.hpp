// How far apart two answers to the same problem are, row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa::tuner {

/// Rows of contiguous outputs (dimension 0) in which `a` and `b` are more than `tolerance` apart in
/// relative L2, the farthest first; integers that differ are always too far, by their share.
/// `among`: only these rows; nothing = all.
std::vector<std::int64_t> rows_apart(
    const std::vector<HostTensor>& a, const std::vector<HostTensor>& b, double tolerance,
    const std::optional<std::vector<std::int64_t>>& among = std::nullopt);

/// An element as a number.
double value_of(const std::byte* element, Dtype dtype) noexcept;

}  // namespace nsa::tuner
