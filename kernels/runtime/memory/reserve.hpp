// What the router's reserves ask for.
#pragma once

#include "nsa/kernels/routing.hpp"

namespace nsa {

/// Bytes ahead of the need, where the row that is chosen within `attention` copies K and V.
std::int64_t reserved_bytes(const Router& router, const Problem& problem, const Choice& attention);

}  // namespace nsa
