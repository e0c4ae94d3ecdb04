// The branches with one run of keys.
#pragma once

#include <cstdint>

#include "nsa/kernels/launch.hpp"

namespace nsa::vendor {

/// The keys of a query: the last `window` tokens, or the compressed keys so far.
enum class Band : std::uint8_t { window, compressed };

/// The branch of NSA that it is.
constexpr Branch branch_of(Band band) noexcept {
  return band == Band::window ? Branch::win : Branch::cmp;
}

}  // namespace nsa::vendor
