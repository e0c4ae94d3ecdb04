// Dense attention by cuDNN, as wishes to a router.
#pragma once

#include "nsa/kernels/routing.hpp"

namespace nsa {

/// cuDNN's rows of the window, which dense attention runs on, in both directions; backward the one
/// that gives the same bits each time where `deterministic`.
ApiOverrides dense_by_cudnn(bool deterministic);

}  // namespace nsa
