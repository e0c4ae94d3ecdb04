// The backward pass of one stage in fp64: all gradients of signature_of(stage, backward).
#pragma once

#include "reference/backward/backward.hpp"

namespace nsa::reference {

/// Gradients in the order of the signature's outputs, each row-major with the shape of its tensor.
/// `inputs` in the order of its inputs, read as they are stored, o_cmp, o_sel and o_win too. The
/// log-sum-exp that was saved is not read: probabilities are computed again. ContractError for a
/// stage without a gradient.
std::vector<Row> run_stage_backward(Stage stage, const Problem& problem,
                                    std::span<const TensorView> inputs,
                                    const AttentionOptions& options = {});

}  // namespace nsa::reference
