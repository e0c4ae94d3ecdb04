// Inputs of make_inputs() as a plan: what a device can fill itself has no bytes yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa {

/// A tensor that the generator fills: element i is generate(i, seed, scale), rounded once.
struct GeneratedTensor {
  std::size_t index;
  std::uint64_t seed;
  double scale;
};
/// What make_inputs() gives, but for those in `generated`, which have no bytes yet: a device can
/// fill them where they are read.
struct PlannedInputs {
  std::vector<HostTensor> tensors;
  std::vector<GeneratedTensor> generated;
};
PlannedInputs plan_inputs(std::span<const Stage> stages, const Problem& problem,
                          std::uint64_t seed);
/// Fills in what has no bytes yet.
void generate(PlannedInputs& inputs);

}  // namespace nsa
