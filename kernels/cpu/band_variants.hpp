// The rows that every branch with one run of keys has on the CPU.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "cpu/band.hpp"
#include "nsa/kernels/catalog.hpp"

namespace nsa::cpu {

inline Support supports_forward(const Problem& problem, const Device&) {
  if (problem.direction == Direction::forward) return Support::yes();
  return Support::no("forward only");
}

/// Launch functions of one branch: in q, k, v; out o; log-sum-exp where the caller saves it.
template <BandKind kKind>
struct BandLaunch {
  static BandTensors tensors(const LaunchArgs& args) {
    BandTensors t{args.in[0], args.in[1], args.in[2], args.out[0], {}};
    if (args.saved != nullptr && kKind == BandKind::window) t.lse = args.saved->lse_win;
    if (args.saved != nullptr && kKind == BandKind::compressed) t.lse = args.saved->lse_cmp;
    return t;
  }
  static Band band(const Problem& problem) { return {kKind, problem.geometry}; }

  static void math(const LaunchArgs& args) { band_math(args, band(args.problem), tensors(args)); }
  static std::int64_t math_bytes(const Problem& p) { return band_math_bytes(p, band(p)); }

  template <Layout kLayout>
  static void blocked(const LaunchArgs& args) {
    band_blocked(args, band(args.problem), tensors(args), kLayout);
  }
  template <Layout kLayout>
  static std::int64_t blocked_bytes(const Problem& p) {
    return band_blocked_bytes(p, sequences_of(p), band(p), kLayout);
  }
};

/// The three rows of a branch; the hashes are those of `sdpa_math` and of the blocked softmax.
template <BandKind kKind>
constexpr std::array<Variant, 3> band_rows(std::span<const Stage> stages,
                                           Cost (*cost)(const Problem&), std::string_view math_hash,
                                           std::string_view blocked_hash) {
  using Launch = BandLaunch<kKind>;
  const auto row = [&](std::string_view name, std::string_view what,
                       std::int64_t (*bytes)(const Problem&), void (*launch)(const LaunchArgs&),
                       std::string_view hash) {
    return Variant{.stages = stages,
                   .name = name,
                   .dtypes = kAllDtypes,
                   .what = what,
                   .supports = supports_forward,
                   .cost = cost,
                   .workspace_bytes = bytes,
                   .launch = launch,
                   .source_hash = hash};
  };
  return {
      row("sdpa_math", "GEMM, softmax, GEMM with the BLAS over the band of a tile of tokens.",
          Launch::math_bytes, Launch::math, math_hash),
      row("fa2_dense", "Blocked online softmax; every sequence padded to the longest of the batch.",
          Launch::template blocked_bytes<Layout::dense>, Launch::template blocked<Layout::dense>,
          blocked_hash),
      row("fa2_varlen", "Blocked online softmax; sequences packed by their lengths.",
          Launch::template blocked_bytes<Layout::varlen>, Launch::template blocked<Layout::varlen>,
          blocked_hash)};
}

}  // namespace nsa::cpu
