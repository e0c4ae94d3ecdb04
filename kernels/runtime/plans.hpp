// Variants of the composites are plans: a prefill mode and, where named, a row for the selected
// branch; every other stage runs its built-in default.
#pragma once

#include <span>
#include <string_view>

#include "nsa/kernels/routing.hpp"

namespace nsa {

struct Plan {
  std::string_view name;
  std::string_view prefill_mode;  // "batched", "sequential", "fused_step"
  std::string_view selected;      // row of attend_selected; empty = the built-in default
  std::string_view window = "";   // row of attend_window, likewise; dense attention runs it too
};

/// The finalists that are measured as a whole; tuned after their parts.
std::span<const Plan> plans();
const Plan& find_plan(std::string_view name);
/// The router that follows the plan on the CPU, or on the CUDA device that is current. Lives as
/// long as the process. InputError when the back end has no such row.
const Router& router_of(const Plan& plan, Backend backend);

}  // namespace nsa
