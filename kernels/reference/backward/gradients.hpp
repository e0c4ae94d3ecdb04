// Right gradients in fp64 of problems of any size.
#pragma once

#include "nsa/kernels/inputs.hpp"
#include "reference/backward/stage.hpp"

namespace nsa::reference {

/// Of a contiguous tensor.
inline Row elements_of(const TensorView& tensor) { return load(tensor, 0, tensor.elements()); }

/// Of the stage's forward pass.
double flop_of(Stage stage, const Problem& problem);
/// run_stage_backward() of a small problem; of a larger one the same by the first CPU row of the
/// built-in order in fp64.
std::vector<Row> gradients_of(Stage stage, const Problem& problem,
                              std::span<const TensorView> inputs, const AttentionOptions& options);
/// All outputs of a stage, in the direction of the problem, by that row in fp64.
std::vector<HostTensor> run_in_fp64(Stage stage, const Problem& problem,
                                    std::span<const TensorView> inputs,
                                    const AttentionOptions& options);
/// By that row, whatever the size.
std::vector<Row> gradients_by_row(Stage stage, const Problem& problem,
                                  std::span<const TensorView> inputs,
                                  const AttentionOptions& options);

/// Both passes of attention, made of those of its stages over the `blocks` that were selected:
/// signature_of(attention, kForwardBackward).outputs, row-major, with an empty row for the blocks.
/// What lies between the stages is rounded as they store it. `dense`: dense causal attention over
/// the keys of the selected branch; what it does not read has a gradient of zero.
std::vector<Row> run_attention_passes(const Problem& problem, std::span<const TensorView> inputs,
                                      const TensorView& blocks, const AttentionOptions& options,
                                      bool dense);
/// The same of a layer: the projections around it too.
std::vector<Row> run_layer_passes(const Problem& problem, std::span<const TensorView> inputs,
                                  const TensorView& blocks, const AttentionOptions& options,
                                  bool dense);

/// Gradients of all weights of a model, by the runtime's rows in fp64.
Row run_model_passes(const Problem& problem, std::span<const TensorView> inputs,
                     const AttentionOptions& options, bool dense);

}  // namespace nsa::reference
