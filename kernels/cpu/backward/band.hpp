// The backward pass of the branches where a query sees one run of keys: tiles of tokens x heads of
// a group on panels of 64 keys, probabilities again from the log-sum-exp, then the gradients of
// queries, keys and values. Compiled once for the window and once for the compressed keys.
#pragma once

#include "cpu/band/band.hpp"

namespace nsa::cpu {

template <BandKind kKind>
void launch_band_backward(const LaunchArgs& args);
template <BandKind kKind>
std::int64_t launch_band_backward_bytes(const Problem& problem);

}  // namespace nsa::cpu
