// Numbers of a stage by one of the rows that users run, where the reference would take too long.
#pragma once

#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::reference {

/// Launches the first CPU row of the built-in order that runs `problem`, in the problem's direction
/// and dtype, and gives the same bits each time. Tensors as signature_of(stage, direction) names
/// them, in host memory. ContractError where there is no such row.
void run_first_row(Stage stage, const Problem& problem, std::span<const TensorView> in,
                   std::span<const TensorView> out, const AttentionOptions& options,
                   Saved* saved = nullptr);
/// Launches that CPU row at its default point. `router`: for a composite.
void run_row(const Variant& row, const Problem& problem, std::span<const TensorView> in,
             std::span<const TensorView> out, const AttentionOptions& options,
             Saved* saved = nullptr, const Router* router = nullptr);

}  // namespace nsa::reference
