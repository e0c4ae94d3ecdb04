#include "train/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "interrupt.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/nvtx.hpp"
#include "nsa/schemas/cuda/out_of_memory.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Loop {
 public:
  Loop(const RunDevice& device, training::Trainer& trainer, const TokenSource& source,
       const RunOptions& options, const LoopHooks& hooks, RunTimes& times, TrainReport& report)
      : device_(device),
        trainer_(trainer),
        source_(source),
        options_(options),
        hooks_(hooks),
        times_(times),
        report_(report),
        waiting_([&device] { device.synchronize(); }) {}

  LoopEnd run() {
    const std::atomic<bool>& stop = stop_on_signals();
    const std::int64_t first = trainer_.steps_done(), end = first + options_.steps;
    std::int64_t begin_ns = now_ns(), last = first;
    for (std::int64_t step = first; step < end && !stop; ++step) {
      std::vector<std::int32_t> tokens;
      try {
        tokens = source_.tokens_of(step);
      } catch (const EnvironmentError& error) {
        report_.stopped = error.what();
        return ended_early(last, LoopEnd::no_data);
      }
      one_step(tokens, step, step - first);
      const bool alone = step - first < apart();  // steps that are timed by themselves
      const bool read = beats() && (step + 1 - first) % options_.every == 0;
      const bool due = read || step + 1 - last >= most_unseen() || step + 1 == end || alone;
      const bool save = options_.train.save_every > 0 &&
                        (step + 1 - first) % options_.train.save_every == 0 && step + 1 < end;
      if (!due && !save) continue;
      device_.synchronize();
      take_times(step + 1 - last, now_ns() - begin_ns, step - first);
      if (!take_results(step + 1 - last)) return LoopEnd::not_finite;
      if (read || step + 1 == end) beat(step + 1);
      if (save) hooks_.save();
      if (step + 1 - first == apart() && step + 1 < end && options_.graph) capture();
      last = step + 1, begin_ns = now_ns();
    }
    return stop ? ended_early(last, LoopEnd::stopped) : LoopEnd::done;
  }

 private:
  /// On a GPU the second step waits for each of its parts, and the graph is captured after it.
  std::int64_t apart() const { return device_.on_gpu() ? 2 : 1; }

  /// On a GPU a look at the results waits for the device, which is left alone where nobody reads a
  /// heartbeat.
  bool beats() const { return !device_.on_gpu() || options_.heartbeat; }
  /// Steps that run at most without a look at their results.
  std::int64_t most_unseen() const {
    constexpr std::int64_t kMost = training::Trainer::kHistory, kUnread = 10;
    return beats() ? kMost : std::min(std::max(options_.every, kUnread), kMost);
  }

  void one_step(const std::vector<std::int32_t>& tokens, std::int64_t step, std::int64_t of_run) {
    const probes::Range range(("step " + std::to_string(step)).c_str());
    training::StepObserver* times = nullptr;
    if (!device_.on_gpu()) {
      if (of_run > 0 || options_.steps == 1) times = &on_host_, ++report_.parts_steps;
    } else if (of_run == 1) {
      times = &waiting_, report_.parts_steps = 1;
    }
    trainer_.step(tokens, ranges_.around(times));
  }

  void capture() {
    trainer_.use_graph([this](const std::function<void()>& launch) {
      launch_ = launch;
      graph_ = probes::capture_graph(
          device_.device(), device_.stream(),
          [](void* body) { (*static_cast<const std::function<void()>*>(body))(); }, &launch_);
      return [graph = graph_] { graph->launch(); };
    });
    report_.graph = true;
  }

  void take_times(std::int64_t steps, std::int64_t ns, std::int64_t of_run) {
    last_ns_ = ns / std::max<std::int64_t>(steps, 1);
    if (of_run == 0) {
      times_.first_call_ns = ns;
    } else if (of_run >= apart()) {
      times_.step_ns.insert(times_.step_ns.end(), static_cast<std::size_t>(steps), last_ns_);
    }
    report_.parts = device_.on_gpu() ? waiting_.parts() : on_host_.parts();
  }

  /// Whether all is finite.
  bool take_results(std::int64_t steps) {
    const auto results = trainer_.results(steps);
    report_.results.insert(report_.results.end(), results.begin(), results.end());
    return !trainer_.bad_step();
  }

  void beat(std::int64_t step) {
    if (hooks_.heartbeat) hooks_.heartbeat(step, last_ns_, report_.results.back());
  }

  LoopEnd ended_early(std::int64_t last, LoopEnd why) {
    device_.synchronize();
    return take_results(trainer_.steps_done() - last) ? why : LoopEnd::not_finite;
  }

  const RunDevice& device_;
  training::Trainer& trainer_;
  const TokenSource& source_;
  const RunOptions& options_;
  const LoopHooks& hooks_;
  RunTimes& times_;
  TrainReport& report_;
  PartTimes on_host_, waiting_;
  StepRanges ranges_;
  std::function<void()> launch_;
  std::shared_ptr<probes::GraphReplay> graph_;
  std::int64_t last_ns_ = 0;
};

}  // namespace

LoopEnd run_training_steps(const RunDevice& device, training::Trainer& trainer,
                           const TokenSource& source, const RunOptions& options,
                           const LoopHooks& hooks, RunTimes& times, TrainReport& report) {
  return Loop(device, trainer, source, options, hooks, times, report).run();
}

void take_what_is_left(const RunDevice& device, const training::Trainer& trainer,
                       TrainReport& report) {
  device.synchronize();
  const auto taken = static_cast<std::int64_t>(report.results.size());
  const std::int64_t left = trainer.steps_done() - report.first_step - taken;
  const auto results = trainer.results(left);
  report.results.insert(report.results.end(), results.begin(), results.end());
}

std::string out_of_memory_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory& e) {
    return e.what();
  } catch (const CudaError& e) {
    if (!is_out_of_memory(e)) throw;
    return advice_for(e);
  } catch (const std::bad_alloc&) {
    return "the host has no memory left";
  }
}

std::string first_bad_tensor(training::Trainer& trainer, const TokenSource& source) {
  const std::int64_t step = trainer.bad_step().value();
  const std::int64_t behind = trainer.steps_done() - step;
  const double loss = trainer.results(behind).front().loss;
  const std::string what =
      std::isfinite(loss)
          ? "the norm of its gradients is not finite"
          : std::string(std::isnan(loss) ? "the loss is not a number" : "the loss is infinite");
  FirstBad observer(trainer);
  std::optional<std::string> found;
  for (const auto& [name, view] : trainer.parameters())
    if (!found) found = observer.look(name, "weight", view);
  if (!found) {
    trainer.replay(source.tokens_of(step), &observer);
    found = observer.found();
  }
  for (const auto& [name, view] : trainer.gradients())
    if (!found) found = observer.look(name, "gradient", view);
  return fmt::format("step {}: {}; the first tensor that is not finite: {}", step + 1, what,
                     found.value_or("none when it ran once more"));
}

}  // namespace nsa::cli
