// The fp64 oracle on a CUDA device, with kernels of its own: it covers every row of an output in
// the time in which the CPU's covers a few. Tested against the CPU's (tests/gpu).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nsa/kernels/oracle.hpp"

struct CUstream_st;

namespace nsa {

/// What DeviceOracle knows: attend_selected, ranges, and forward launches of whole attention by NSA
/// (not its dense baselines) with up to 24,576 compressed keys in a sequence. False for all in a
/// build without CUDA.
bool device_oracle_covers(Stage stage, const Problem& problem) noexcept;

/// Judges outputs of one stage and problem. What it expects is computed when it is first needed and
/// kept on the device where that takes no more than an eighth of what is free, else computed anew.
/// Of attention it expects what follows from the blocks that the launch says it selected, and these
/// have to be a right answer: a row whose blocks are not is off by the share of its KV heads at
/// least.
class DeviceOracle {
 public:
  /// `inputs` in the order of the stage's signature, on the current device (data pointers on the
  /// device, strides as in a launch); they and `problem` are borrowed. ContractError for a stage
  /// that it does not cover.
  DeviceOracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs);
  ~DeviceOracle();
  DeviceOracle(DeviceOracle&&) noexcept;

  /// Compares every row of `outputs`, which lie on the device as well. The verdict means what
  /// Oracle::verify's means. Waits for the stream.
  Oracle::Verdict verify(std::span<const TensorView> outputs, CUstream_st* stream);
  struct Coverage {
    Oracle::Verdict verdict;
    bool complete = true;  // it is of every row
  };
  /// The same of chunks of rows that are spread over all of them: those that are known, and more
  /// until all calls together have spent `budget_s` on finding what is right; one chunk at least.
  Coverage verify_some(std::span<const TensorView> outputs, double budget_s, CUstream_st* stream);
  /// Row by row: the relative error (share of wrong integers) of the last output, one per row of
  /// dimension 0. For tests and for finding what is wrong.
  std::vector<double> row_errors(std::span<const TensorView> outputs, CUstream_st* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nsa
