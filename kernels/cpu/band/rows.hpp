// The rows that every branch with one run of keys has on the CPU.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "nsa/kernels/catalog.hpp"

namespace nsa::cpu {

/// What a row of a branch runs, and the bound of what it takes.
struct BandRow {
  LaunchFunction launch;
  std::int64_t (*bytes)(const Problem&);
};
struct BandRows {
  BandRow sdpa_math, fa2_dense, fa2_varlen;
  std::string_view math_hash, blocked_hash;  // of sdpa_math, and of the blocked softmax
};

constexpr std::array<Variant, 3> band_rows(const StageRows& stage, const BandRows& rows) {
  return {
      stage.cpu({.name = "sdpa_math",
                 .summary = "GEMM, softmax, GEMM with the BLAS over the band of a tile of tokens.",
                 .workspace_bytes = rows.sdpa_math.bytes,
                 .launch = rows.sdpa_math.launch,
                 .source_hash = rows.math_hash,
                 .rank = 4}),
      stage.cpu(
          {.name = "fa2_dense",
           .summary = "Blocked online softmax; every sequence padded to the longest of the batch.",
           .workspace_bytes = rows.fa2_dense.bytes,
           .launch = rows.fa2_dense.launch,
           .source_hash = rows.blocked_hash,
           .rank = 3,
           .switch_target = SwitchTarget::fa2_dense}),
      stage.cpu({.name = "fa2_varlen",
                 .summary = "Blocked online softmax; sequences packed by their lengths.",
                 .workspace_bytes = rows.fa2_varlen.bytes,
                 .launch = rows.fa2_varlen.launch,
                 .source_hash = rows.blocked_hash,
                 .rank = 2,
                 .switch_target = SwitchTarget::fa2_varlen})};
}

}  // namespace nsa::cpu
