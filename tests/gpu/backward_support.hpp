// Backward launches of CUDA rows, and what their gradients are compared with.
#pragma once

#include <vector>

#include "gpu.hpp"
#include "gradients.hpp"
#include "reference/backward/stage.hpp"

namespace nsa::test {

/// CUDA rows of the stage's backward pass.
std::vector<const Variant*> cuda_backward_rows(Stage stage);

/// The problem, to be asked for its gradients.
Problem backward_of(Problem problem);

/// How tensors lie on the device, and what a launch is told.
struct BackwardRun {
  Point point{};
  AttentionOptions options{};
  unsigned accumulate = 0;
  std::int64_t row_gap = 0, offset = 0;
};

/// The gradients that one launch writes, over or on top of `gradients`.
std::vector<HostTensor> launch_backward(const Variant& row, const Problem& problem,
                                        const BackwardInputs& inputs,
                                        std::vector<HostTensor> gradients, CUstream_st* stream,
                                        const BackwardRun& run = {});

/// Largest error of a row (one index of dimension 0), relative to the row's norm. A row may be 0
/// but for rounding where terms cancel (that of o above all), so no row counts as shorter than a
/// quarter of a typical one.
double worst_gradient_error(const reference::Row& expected, const HostTensor& produced);

/// Checks the worst row of each gradient.
void check_gradients(const std::vector<reference::Row>& expected,
                     const std::vector<HostTensor>& produced, double tolerance);

/// Inputs of a problem too large for the fp64 reference: the forward pass runs on the device.
BackwardInputs inputs_by_device(Stage stage, const Problem& problem, std::uint64_t seed,
                                CUstream_st* stream);
/// Of attend_selected whose blocks `inputs` names: ranges, o and the log-sum-exp made to fit.
void follow_blocks(BackwardInputs& inputs, const Problem& problem, CUstream_st* stream);

}  // namespace nsa::test
