// The backward rows that every branch with one run of keys has on the CPU.
#pragma once

#include <array>

#include "cpu/band/rows.hpp"

namespace nsa::cpu {

struct BandBackwardRows {
  BandRow fa2_varlen;
  std::string_view blocked_hash;  // of fa2_varlen
};

constexpr std::array<Variant, 1> band_backward_rows(const StageRows& stage,
                                                    const BandBackwardRows& rows) {
  return {stage.cpu_backward(
      {.name = "fa2_varlen",
       .summary =
           "Tiles of queries on panels of keys: probabilities again from the log-sum-exp, then "
           "all three gradients in one pass.",
       .workspace_bytes = rows.fa2_varlen.bytes,
       .launch = rows.fa2_varlen.launch,
       .source_hash = rows.blocked_hash,
       .rank = 2,
       .switch_target = SwitchTarget::fa2_varlen})};
}

}  // namespace nsa::cpu
