// The backward pass of the branches where a query sees one run of keys.
#pragma once

#include "cpu/band/band.hpp"
#include "operands/attend_backward.hpp"

namespace nsa::cpu {

/// Tiles of tokens x heads of a group on panels of 64 keys: probabilities again from the
/// log-sum-exp, then the gradients of queries, keys and values.
void band_backward(const LaunchArgs& args, const Band& band, const BandBackwardTensors& tensors);
std::int64_t band_backward_bytes(const Problem& problem, const Band& band);

/// Launch functions of one branch.
template <BandKind kKind>
struct BandBackward {
  static Band band(const Problem& problem) { return {kKind, problem.geometry}; }
  static BandBackwardTensors tensors(const LaunchArgs& args) {
    return BandBackwardTensors::of(args, kKind == BandKind::window ? Branch::win : Branch::cmp);
  }
  static void blocked(const LaunchArgs& args) {
    band_backward(args, band(args.problem), tensors(args));
  }
  static std::int64_t blocked_bytes(const Problem& p) { return band_backward_bytes(p, band(p)); }
};

}  // namespace nsa::cpu
