// The steps of a training run.
#pragma once

#include <exception>
#include <functional>

#include "run/device.hpp"
#include "run/options.hpp"
#include "run/steps.hpp"
#include "train/data.hpp"
#include "train/report.hpp"

namespace nsa::cli {

/// What happens beside the steps.
struct LoopHooks {
  /// Between two heartbeats, with the steps done and the mean time of a step since the last one.
  std::function<void(std::int64_t step, std::int64_t ns, const training::StepResult&)> heartbeat;
  /// A checkpoint is due.
  std::function<void()> save;
};

/// Why the steps ended.
enum class LoopEnd : std::uint8_t { done, stopped, no_data, not_finite, out_of_memory };

/// Runs `options.steps` steps, or up to a signal, to data that cannot be read any more (the report
/// says why), or to a loss that is not finite, which is looked for at every heartbeat. Fills times,
/// results and parts.
LoopEnd run_training_steps(const RunDevice& device, training::Trainer& trainer,
                           const TokenSource& source, const RunOptions& options,
                           const LoopHooks& hooks, RunTimes& times, TrainReport& report);
/// Results of steps that were done before an error broke the loop off.
void take_what_is_left(const RunDevice& device, const training::Trainer& trainer,
                       TrainReport& report);
/// What an error says that is an out-of-memory, of the host or of a device. Rethrows any other.
std::string out_of_memory_text(const std::exception_ptr& error);
/// "step 12: the loss is nan; the first tensor ...": by running that step once more.
std::string first_bad_tensor(training::Trainer& trainer, const TokenSource& source);

}  // namespace nsa::cli
