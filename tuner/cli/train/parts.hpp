// What a step's observers are for: the time of its parts, and the first tensor that is not finite.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "nsa/kernels/training.hpp"

namespace nsa::cli {

/// Time of each part of a step, as the launching thread sees it: on a CPU, that of the part. On a
/// GPU `wait` is called at both ends of a part, so that it is the part's too, and the step's is
/// not.
class PartTimes final : public training::StepObserver {
 public:
  explicit PartTimes(std::function<void()> wait = {}) : wait_(std::move(wait)) {}
  void begin(training::StepPhase phase, std::string_view part, CUstream_st*) override;
  void end(CUstream_st*) override;
  struct Part {
    std::int64_t calls = 0, ns = 0;
  };
  using Parts = std::map<std::pair<training::StepPhase, std::string>, Part>;
  const Parts& parts() const noexcept { return parts_; }

 private:
  std::function<void()> wait_;
  Parts parts_;
  Part* open_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
};

/// Parts of a step as NVTX ranges, under the names that traces are read by: "backward/mlp",
/// "recompute/mlp". Another observer may look, too.
class StepRanges final : public training::StepObserver {
 public:
  /// Itself, with that observer or none.
  StepRanges* around(training::StepObserver* inner) {
    inner_ = inner;
    return this;
  }
  void begin(training::StepPhase phase, std::string_view part, CUstream_st* stream) override;
  void end(CUstream_st* stream) override;

 private:
  training::StepObserver* inner_ = nullptr;
};

/// The first tensor of a step with an element that is not finite.
class FirstBad final : public training::StepObserver {
 public:
  explicit FirstBad(const training::Trainer& trainer) : trainer_(trainer) {}
  bool wants_tensors() const override { return !found_; }
  void tensor(training::StepPhase phase, std::string_view name, const TensorView& tensor) override;
  /// "layers.3.hidden (forward; 5 of 12288 elements)".
  const std::optional<std::string>& found() const noexcept { return found_; }
  /// Looks at a tensor that lies anywhere.
  std::optional<std::string> look(std::string_view name, const char* where,
                                  const TensorView& tensor) const;

 private:
  const training::Trainer& trainer_;
  std::optional<std::string> found_;
};

}  // namespace nsa::cli
