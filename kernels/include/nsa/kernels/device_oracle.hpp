// The fp64 oracle on a CUDA device, with kernels of its own: it covers every row of an output in
// the time in which the CPU's covers a few. Tested against the CPU's (tests/gpu).
#pragma once

#include <cstdint>
#include <span>

#include "nsa/kernels/oracle.hpp"

struct CUstream_st;

namespace nsa {

/// Stages that verify_on_device knows: attend_selected and ranges. False for all of them in a build
/// without CUDA.
bool device_oracle_covers(Stage stage) noexcept;

/// Compares every row of `outputs` with what it computes from `inputs`, both in the order of the
/// stage's signature and on the current device (data pointers on the device, strides as in a
/// launch). The verdict means what Oracle::verify's means. Waits for the stream; allocates some
/// device memory for the time of the call. ContractError for a stage that it does not cover.
Oracle::Verdict verify_on_device(Stage stage, const Problem& problem,
                                 std::span<const TensorView> inputs,
                                 std::span<const TensorView> outputs, CUstream_st* stream);

/// The same for the last output row by row: its relative error (share of wrong integers), one per
/// row of dimension 0. For tests and for finding what is wrong.
std::vector<double> row_errors_on_device(Stage stage, const Problem& problem,
                                         std::span<const TensorView> inputs,
                                         std::span<const TensorView> outputs, CUstream_st* stream);

}  // namespace nsa
