// The branches with one run of keys.
#pragma once

#include <cstdint>

#include "nsa/kernels/launch.hpp"

namespace nsa::vendor {

/// The keys of a query: the last `window` tokens, or the compressed keys so far.
enum class Band : std::uint8_t { window, compressed };

/// The part of args.saved that belongs to the branch, or an absent view: [tokens, q_heads] fp32.
inline TensorView lse_of(const LaunchArgs& args, Band band) {
  if (!args.saved) return {};
  return band == Band::window ? args.saved->lse_win : args.saved->lse_cmp;
}

}  // namespace nsa::vendor
