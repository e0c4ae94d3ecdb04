// Variants of the composites are plans: a prefill mode and, where named, a row for the selected
// branch; every other stage runs its built-in default. That is how they are measured. Where a
// thresholds file decides for a plan, its prefill mode is followed, and each stage by its own
// decision, which knows the overlap at hand.
#pragma once

#include <string_view>

#include "nsa/kernels/routing.hpp"

namespace nsa {

struct Plan {
  std::string_view name;
  std::string_view prefill_mode;  // a row of attention by name: "batched", "sequential", ...
  std::string_view selected;      // row of attend_selected; empty = the built-in default
  std::string_view window = "";   // row of attend_window, likewise; dense attention runs it too
};

/// The finalists that are measured as a whole; tuned after their parts.
namespace plans {

inline constexpr Plan kBatched{"batched", "batched", ""};
inline constexpr Plan kMasked{"batched_masked", "batched", "masked"};
inline constexpr Plan kPacked{"batched_packed", "batched", "packed"};
inline constexpr Plan kVarlen{"batched_varlen_v2", "batched", "varlen_v2"};
inline constexpr Plan kDensePrefix{"batched_dense_prefix", "batched", "dense_prefix"};
inline constexpr Plan kStreams{"batched_streams", "batched_streams", ""};
inline constexpr Plan kBlock{"batched_fused_block", "batched", "fused_block"};
inline constexpr Plan kStreamsBlock{"batched_streams_fused_block", "batched_streams",
                                    "fused_block"};
inline constexpr Plan kFusedStep{"fused_step", "fused_step", ""};
inline constexpr Plan kSequential{"sequential", "sequential", ""};
inline constexpr Plan kDenseSdpa{"dense_sdpa", "batched", "", "sdpa"};
inline constexpr Plan kDenseFa2{"dense_fa2", "batched", "", "fa2_varlen"};

}  // namespace plans

/// The router that follows the plan on the CPU, or on the CUDA device that is current. Lives as
/// long as the process. InputError when the back end has no such row.
const Router& router_of(const Plan& plan, Backend backend);

}  // namespace nsa
