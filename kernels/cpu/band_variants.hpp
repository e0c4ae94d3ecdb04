// The rows that every branch with one run of keys has on the CPU.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "nsa/kernels/catalog.hpp"

namespace nsa::cpu {

/// What the rows of a branch run, and the bound of what it takes.
struct BandRow {
  LaunchFunction launch;
  std::int64_t (*bytes)(const Problem&);
};
struct BandRows {
  BandRow sdpa_math, fa2_dense, fa2_varlen;
};

/// The three rows of a branch; the hashes are those of `sdpa_math` and of the blocked softmax.
constexpr std::array<Variant, 3> band_rows(std::span<const Stage> stages,
                                           Cost (*cost)(const Problem&), const BandRows& rows,
                                           std::string_view math_hash,
                                           std::string_view blocked_hash) {
  const auto row = [&](std::string_view name, std::string_view what, const BandRow& runs,
                       std::string_view hash, int rank, SwitchTarget target = SwitchTarget::none) {
    return Variant{.stages = stages,
                   .name = name,
                   .dtypes = kAllDtypes,
                   .what = what,
                   .cost = cost,
                   .workspace_bytes = runs.bytes,
                   .launch = runs.launch,
                   .source_hash = hash,
                   .rank = rank,
                   .switch_target = target};
  };
  return {
      row("sdpa_math", "GEMM, softmax, GEMM with the BLAS over the band of a tile of tokens.",
          rows.sdpa_math, math_hash, 4),
      row("fa2_dense", "Blocked online softmax; every sequence padded to the longest of the batch.",
          rows.fa2_dense, blocked_hash, 3, SwitchTarget::fa2_dense),
      row("fa2_varlen", "Blocked online softmax; sequences packed by their lengths.",
          rows.fa2_varlen, blocked_hash, 2, SwitchTarget::fa2_varlen)};
}

}  // namespace nsa::cpu
