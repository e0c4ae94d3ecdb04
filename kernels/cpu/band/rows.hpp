// The rows that every branch with one run of keys has on the CPU.
#pragma once

#include <array>

#include "catalog/rows.hpp"
#include "cpu/backward/band.hpp"
#include "cpu/band/launch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "source_hashes.hpp"

namespace nsa::cpu {

template <BandKind kKind>
constexpr std::array<Variant, 3> band_rows(const StageRows& stage) {
  return {
      stage.cpu({.name = "sdpa_math",
                 .summary = "GEMM, softmax, GEMM with the BLAS over the band of a tile of tokens.",
                 .workspace_bytes = launch_band_math_bytes<kKind>,
                 .launch = launch_band_math<kKind>,
                 .source_hash = source_hash::band_math,
                 .rank = 4}),
      stage.cpu(
          {.name = "fa2_dense",
           .summary = "Blocked online softmax; every sequence padded to the longest of the batch.",
           .workspace_bytes = launch_band_blocked_bytes<kKind, Layout::dense>,
           .launch = launch_band_blocked<kKind, Layout::dense>,
           .source_hash = source_hash::band_blocked,
           .rank = 3,
           .switch_target = SwitchTarget::fa2_dense}),
      stage.cpu({.name = "fa2_varlen",
                 .summary = "Blocked online softmax; sequences packed by their lengths.",
                 .workspace_bytes = launch_band_blocked_bytes<kKind, Layout::varlen>,
                 .launch = launch_band_blocked<kKind, Layout::varlen>,
                 .source_hash = source_hash::band_blocked,
                 .rank = 2,
                 .switch_target = SwitchTarget::fa2_varlen})};
}

template <BandKind kKind>
constexpr std::array<Variant, 1> band_backward_rows(const StageRows& stage) {
  return {stage.cpu_backward(
      {.name = "fa2_varlen",
       .summary =
           "Tiles of queries on panels of keys: probabilities again from the log-sum-exp, then "
           "all three gradients in one pass.",
       .workspace_bytes = launch_band_backward_bytes<kKind>,
       .launch = launch_band_backward<kKind>,
       .source_hash = source_hash::band_backward,
       .rank = 2,
       .switch_target = SwitchTarget::fa2_varlen})};
}

}  // namespace nsa::cpu
