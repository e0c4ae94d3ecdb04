// What the stages of one launch of both passes of a composite share.
#pragma once

#include "training/stages.hpp"

namespace nsa::training {

/// As the runtime launches stages on the device of the launch.
const StageRunner& launching(const LaunchArgs& args);

class Passes {
 public:
  Passes(const LaunchArgs& args, const StageRunner& stages);
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  const StageContext& step() const { return step_; }
  bool dense() const { return dense_; }
  ModelConfig config() const;
  /// Dense attention selects no blocks and reads no gate: that gradient is zero, and so are those
  /// of the rows that it does not read.
  void without_nsa(const TensorView& blocks, const GateWeights& d_gate) const;
  void zero(const KvTensors& gradients) const;

 private:
  WorkspaceScope held_;
  Problem forward_, backward_;
  PlacedSequences sequences_;
  Choice chosen_;
  bool dense_;
  StageContext step_;
};

}  // namespace nsa::training
