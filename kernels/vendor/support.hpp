// What vendors' kernels can run, with the reason where they cannot: plain C++, pure functions.
#pragma once

#include "nsa/kernels/catalog.hpp"
#include "vendor/branch.hpp"

namespace nsa::vendor {

/// `window` tokens up to each query: the problem's for the window branch, all for dense attention.
Support supports_sdpa(const Problem& p, std::int64_t window, const Device& device) noexcept;
Support supports_fa2(const Problem& p, std::int64_t window, const Device& device) noexcept;
/// As `supports` of the branches' rows.
inline Support supports_sdpa(const Problem& p, const Device& device) noexcept {
  return supports_sdpa(p, p.geometry.window, device);
}
inline Support supports_fa2(const Problem& p, const Device& device) noexcept {
  return supports_fa2(p, p.geometry.window, device);
}
template <Band kBand>
Support supports_math(const Problem& p, const Device& device) noexcept;

/// The same of the backward rows. `deterministic`: cuDNN keeps the gradients of all weights.
template <bool kDeterministic>
Support supports_sdpa_backward(const Problem& p, const Device& device) noexcept;
Support supports_math_backward(const Problem& p, const Device& device) noexcept;

/// Upper bounds, without copies of tensors whose rows do not start at multiples of 16 bytes.
std::int64_t sdpa_bytes(const Problem& p);
std::int64_t fa2_bytes(const Problem& p);
template <Band kBand>
std::int64_t math_bytes(const Problem& p);
template <bool kDeterministic>
std::int64_t sdpa_backward_bytes(const Problem& p);
std::int64_t math_backward_bytes(const Problem& p);

}  // namespace nsa::vendor
