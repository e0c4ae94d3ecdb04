// What the CUDA rows of the selected branch support and take: plain C++, so that a build without
// CUDA knows it too.
#pragma once

#include <cstdint>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_selected {

/// Shared memory of a block of `masked` and of `gather`, in bytes.
std::int64_t masked_shared_bytes(const Problem& p) noexcept;
std::int64_t gather_shared_bytes(const Problem& p) noexcept;

Support supports_masked(const Problem& p, const Device& device) noexcept;
/// A row of ranges or blocks at a time: gather and all that walk keys like it.
Support supports_gather(const Problem& p, const Device& device) noexcept;
Support supports_ranges(const Problem& p, const Device& device) noexcept;
Support supports_fused_block(const Problem& p, const Device& device) noexcept;
Support supports_dense_prefix(const Problem& p, const Device& device) noexcept;

/// Upper bounds of the workspace of a launch, in bytes.
std::int64_t ranges_workspace(const Problem& p);
std::int64_t fused_block_workspace(const Problem& p);
std::int64_t dense_prefix_workspace(const Problem& p);
std::int64_t expanded_workspace(const Problem& p);

/// The cost of the stage, and of copies of K and V per query head: written once and read once.
Cost expanded_cost(const Problem& p);

}  // namespace nsa::attend_selected
