// Did the rows run that the program says ran? What it says is held against the names of the kernels
// that a tracer saw. Pure: names and times in, a verdict out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa::reports {

/// (stages joined with '+', variant) -> calls, as the runtime's telemetry counts them.
using Engaged = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// The time in which the runtime launched a stage, on CLOCK_MONOTONIC of the host. Stages nest.
struct StageWindow {
  Stage stage = Stage::model;
  std::string variant;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// A kernel, and when the host called its launch by the same clock.
struct SeenKernel {
  std::string name;  // demangled
  std::int64_t launched_ns = 0;
};

/// What was seen of one step.
struct SeenStep {
  Engaged engaged;
  std::vector<StageWindow> windows;
  std::vector<SeenKernel> kernels;
};

/// One row that the program says ran.
struct RowProof {
  std::string stages, variant;
  std::map<std::string, std::int64_t> kernels;  // that its launches started, by name
  std::string mismatch;                         // empty: they are those that its row claims
};

struct KernelProof {
  std::vector<RowProof> rows;
  std::map<std::string, std::int64_t> others;  // started outside of every row: norms, caches, MLP
  /// Whether every row holds.
  bool holds() const;
};

/// `ran`: what the timed steps ran; each of it has to be in a step that was traced. A row holds
/// where one kernel at least is its own and none is of another row (KernelNames in the table). Rows
/// of attention, layer and model that run other rows have these as their proof, and own what the
/// runtime does between them.
KernelProof prove_kernels(const Engaged& ran, std::span<const SeenStep> steps, Backend backend);

/// Schema kernel_proof.
Json kernel_proof_json(const KernelProof& proof);
/// A line, and one more for each row that does not hold.
std::string kernel_proof_text(const Json& proof);

}  // namespace nsa::reports
