// How a decode step is shared out over a cluster.
#pragma once

#include "decode/cuda/step/params.hpp"

namespace nsa::decode {

/// Shared memory of a block, for the longest sequence of the problem.
cuda::step::Layout layout_of(const Problem& problem, int ranks);
/// Blocks of a cluster: as many as the chip holds at once; 0 where none has room.
int ranks_of(const Problem& problem);

}  // namespace nsa::decode
