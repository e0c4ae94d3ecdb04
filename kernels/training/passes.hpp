// What the stages of one launch of both passes of a composite share.
#pragma once

#include "training/stages.hpp"

namespace nsa::training {

class Passes {
 public:
  Passes(const LaunchArgs& args, const StageRunner& stages);
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  const StageContext& step() const { return step_; }
  bool dense() const { return dense_; }
  ModelConfig config() const;
  /// Dense attention selects no blocks, and these gradients are zero.
  void without_nsa(std::span<const std::size_t> gradients) const;

 private:
  WorkspaceScope held_;
  Problem forward_, backward_;
  PlacedSequences sequences_;
  Choice chosen_;
  bool dense_;
  std::span<const TensorView> out_;
  StageContext step_;
};

}  // namespace nsa::training
