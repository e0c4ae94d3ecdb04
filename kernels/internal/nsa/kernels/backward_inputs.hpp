// Inputs of a stage's backward pass: those of the forward pass, what it wrote, and gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa {

/// Inputs of a backward launch in host memory.
struct BackwardInputs {
  std::vector<HostTensor> tensors;  // in the order of signature_of(stage, backward)
  std::vector<HostTensor> kept;     // what `saved` looks at
  std::vector<TensorView> views() const;
  /// What the forward pass saved; views of `kept`.
  Saved saved() const;
};

/// Of one stage with a gradient. Inputs of the forward pass are those of make_inputs(stage, ...)
/// for the same seed; o_cmp, o_sel, o_win and the log-sum-exp are what a CPU row computes of them
/// in fp64, rounded once; gradients are generate(i, seed + 100 + index of the tensor, 2 sqrt(3)),
/// rounded to the problem's dtype. `query_factor` multiplies q before it is rounded.
BackwardInputs make_backward_inputs(Stage stage, const Problem& problem, std::uint64_t seed,
                                    const AttentionOptions& options = {}, double query_factor = 1);

/// The same numbers in another type, rounded once, contiguous; ids stay as they are.
HostTensor in_dtype(const TensorView& tensor, Dtype dtype);
inline HostTensor in_fp64(const TensorView& tensor) { return in_dtype(tensor, Dtype::fp64); }

}  // namespace nsa
