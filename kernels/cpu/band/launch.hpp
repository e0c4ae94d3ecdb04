// From the arguments of a branch with one run of keys to the code that its rows share.
#pragma once

#include "cpu/band/band.hpp"

namespace nsa::cpu {

/// Launch functions of one branch: in q, k, v; out o; log-sum-exp where the caller saves it.
template <BandKind kKind>
struct BandLaunch {
  static BandTensors tensors(const LaunchArgs& args) {
    return BandTensors::of(args, kKind == BandKind::window ? Branch::win : Branch::cmp);
  }
  static Band band(const Problem& problem) { return {kKind, problem.geometry}; }

  static void math(const LaunchArgs& args) { band_math(args, band(args.problem), tensors(args)); }
  static std::int64_t math_bytes(const Problem& p) { return band_math_bytes(p, band(p)); }

  static void blocked(const LaunchArgs& args, Layout layout) {
    band_blocked(args, band(args.problem), tensors(args), layout);
  }
  static std::int64_t blocked_bytes(const Problem& p, Layout layout) {
    return band_blocked_bytes(p, sequences_of(p), band(p), layout);
  }
};

}  // namespace nsa::cpu
