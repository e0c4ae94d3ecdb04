// run --train: training steps, their times, losses and memory.
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "device_choice.hpp"
#include "interrupt.hpp"
#include "nsa/kernels/heartbeat.hpp"
#include "nsa/kernels/training_checkpoint.hpp"
#include "nsa/kernels/training_rows.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/tuner/side_by_side.hpp"
#include "run/publish.hpp"
#include "run/reads.hpp"
#include "run/router.hpp"
#include "sweep/progress.hpp"
#include "train/loop.hpp"
#include "train/options.hpp"

namespace nsa::cli {
namespace {

/// Kept free during the steps, so that a run that the host has no memory for is reported.
constexpr std::size_t kReportBytes = 8u << 20;

void refuse_what_does_not_train(const RunOptions& o, const RunPlan& plan, bool on_gpu) {
  if (plan.layer)
    throw InputError("run --train: --preset " + o.preset +
                     " is one attention layer; what trains is a model: 125m, tiny or --config");
  if (plan.decode > 0) throw InputError("run --train: --decode is for inference; drop one");
  if (!o.branches.empty())
    throw InputError("run --train: all branches are trained; drop --branches");
  if (o.trace || o.stage_trace)
    throw InputError("run --train: take nsatune trace record for a trace of the steps");
  if (o.graph && !on_gpu)
    throw InputError("run: --graph captures a CUDA graph; --device cpu has none");
}

/// Three digits: "1.69 GB", "27.3 MB".
std::string size_text(std::int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size < 1e9 ? fmt::format("{:.3g} MB", size * 1e-6) : fmt::format("{:.3g} GB", size * 1e-9);
}

/// Refuses what needs more than `room`; `whose` says in front of it what has that.
void refuse_beyond(const std::optional<std::int64_t>& room, const std::string& whose,
                   const training::TrainingMemory& need) {
  if (!room || need.peak() <= *room) return;
  throw EnvironmentError(fmt::format(
      "run --train: needs {} (weights {}, gradients {}, optimizer {}, activations {}, workspace "
      "{}), {} {}; take a smaller --batch, a shorter --seq-len or --checkpoint all",
      size_text(need.peak()), size_text(need.weights), size_text(need.gradients),
      size_text(need.optimizer), size_text(need.activations), size_text(need.workspace), whose,
      size_text(*room)));
}

/// Refuses what never fits, so that it waits for nobody.
void check_limit(const RunOptions& o, const Device& device, const training::TrainingMemory& need) {
  if (const auto& limit = o.train.memory_limit)
    return refuse_beyond(parse_bytes(*limit, "--memory-limit"), "--memory-limit is", need);
  refuse_beyond(device.memory_bytes, device.id + " has", need);
}

/// Refuses what does not fit now, before the first allocation. A limit of the user's own counts in
/// place of what is free.
void check_free_memory(const RunOptions& o, const Device& device,
                       const training::TrainingMemory& need) {
  if (o.train.memory_limit) return;
  refuse_beyond(probes::require_device(device.id).memory_free_bytes, device.id + " has free", need);
}

std::unique_ptr<TokenSource> source_of(const RunOptions& o,
                                       const training::TrainingConfig& config) {
  if (!o.train.data) return synthetic_tokens(config, o.seed);
  return tokens_of_file(*o.train.data, o.train.data_dtype == "u16", config, o.seed);
}

/// What a resumed run has to repeat to go on bit for bit: flags, data, and what runs where. Rows
/// stand for what chose them: thresholds, variables and the build.
std::map<std::string, std::string> notes_of(const RunOptions& o,
                                            const training::TrainingConfig& config,
                                            const TokenSource& source, const Router& router) {
  const AttentionOptions attention = options_from(router.environment());
  std::map<std::string, std::string> notes{
      {"seed", std::to_string(o.seed)},
      {"data", source.content()},
      {"seq_len", std::to_string(config.seq_len)},
      {"batch", std::to_string(config.batch)},
      {"accumulate", std::to_string(config.accumulate)},
      {"lr", fmt::format("{}", config.rate.peak)},
      {"lr_schedule", std::string(to_string(config.rate.schedule))},
      {"lr_warmup", std::to_string(config.rate.warmup_steps)},
      {"lr_steps", std::to_string(config.rate.total_steps)},
      {"weight_decay", fmt::format("{}", config.optimizer.weight_decay)},
      {"clip", fmt::format("{}", config.optimizer.max_norm)},
      {"deterministic", config.deterministic ? "yes" : "no"},
      {"device", router.inputs().device.name},
      {"rope", fmt::format("base {}, scale {}", attention.rope_base, attention.rope_scale)},
      {"gate", fmt::format("tau {}, uniform {}, forced branch {}", attention.gate_tau,
                           attention.uniform_gate, forced_index(attention))}};
  for (const auto& [stage, row] : training::rows_of_step(router, config, attention))
    notes["row of " + stage] = row;
  return notes;
}

/// Before anything is waited for or measured.
void require_checkpoint(const std::string& folder) {
  const std::string path = training::checkpoint_path(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw InputError("--resume: " + path + " is not there; name a folder that --save has written");
}

void resume(const Settings& settings, const std::string& folder,
            const std::map<std::string, std::string>& here, training::Trainer& trainer) {
  const auto info = training::load_checkpoint(folder, trainer);
  say(settings,
      fmt::format("{}: continues after step {}", training::checkpoint_path(folder), info.step));
  for (const auto& [key, value] : here) {
    const auto at = info.notes.find(key);
    if (at != info.notes.end() && at->second != value)
      say(settings, fmt::format("note: {} was {} before, and is {} now", key, at->second, value));
  }
}

/// Nothing on a CPU, which takes what the standard library gives.
std::unique_ptr<device::RunAllocator> allocator_of(const TrainOptions& o, const RunDevice& device,
                                                   std::optional<AllocatorReport>& report) {
  const std::string name = o.allocator.value_or("cudaMalloc");
  const bool pool = name == "cudaMallocAsync";
  if (o.pool_keep && !pool)
    throw InputError(
        "--pool-keep: only a pool keeps memory; add --allocator cudaMallocAsync, or drop it");
  if (!device.on_gpu()) {
    if (o.allocator) throw InputError("--allocator " + name + " is a GPU's; --device cpu has none");
    return nullptr;
  }
  report.emplace(AllocatorReport{name, std::nullopt, {}});
  if (!pool) return device::make_malloc_allocator();
  report->keep_bytes = o.pool_keep ? parse_bytes(*o.pool_keep, "--pool-keep") : 0;
  return device::make_pool_allocator(static_cast<std::size_t>(*report->keep_bytes));
}

class TrainRun {
 public:
  TrainRun(const Settings& settings, const RunOptions& options)
      : settings_(settings),
        options_(options),
        device_(chosen_device(settings)),
        plan_(make_run_plan(options, device_.device().backend)),
        line_(settings) {
    refuse_what_does_not_train(options, plan_, device_.on_gpu());
    for (const std::string& note : plan_.notes) say(settings, "note: " + note);
    report_.config = training_config(options.train, plan_, plan_.training);
    allocator_ = allocator_of(options.train, device_, report_.allocator);
  }

  ExitCode run() {
    const Router router = router_of(settings_, device_.device(), options_, plan_);
    const AttentionOptions attention = options_from(router.environment());
    report_.predicted = training::predict_memory(router, report_.config, attention);
    check_limit(options_, device_.device(), report_.predicted);
    if (options_.train.resume) require_checkpoint(*options_.train.resume);
    const std::unique_ptr<TokenSource> source = source_of(options_, report_.config);
    report_.data = source->name();
    if (options_.heartbeat) heartbeat_.emplace(settings_, *options_.heartbeat);
    std::optional<store::Store> db = open_database(settings_, options_);
    if (options_.train.save) training::require_checkpoint_folder(*options_.train.save);
    turn_.emplace(device_.device(), nullptr, line_, options_.share);
    // Who was waited for has given back what it held.
    check_free_memory(options_, device_.device(), report_.predicted);
    RunRecord record = begin_record(device_.device(), plan_);
    RunReport result = report_of(record, device_, plan_, options_);
    result.times.tokens_per_step = report_.config.tokens_per_step();
    // The backward pass multiplies each matrix twice as often; what is computed again is no work.
    result.times.flop_per_step =
        3 * static_cast<double>(report_.config.accumulate) * forward_flop(plan_.config, problem());

    Context context;
    context.stream = device_.stream();
    context.router = &router;
    context.telemetry = options_.no_telemetry ? nullptr : &forward_;
    context.options = attention;
    auto for_the_report = std::make_unique_for_overwrite<char[]>(kReportBytes);
    std::unique_ptr<training::Trainer> trainer;
    LoopEnd end = LoopEnd::out_of_memory;
    try {
      trainer = std::make_unique<training::Trainer>(
          context, report_.config, allocator_ ? *allocator_ : device_.allocator(), options_.seed);
      end = trained(*trainer, *source, router, result);
    } catch (...) {
      for_the_report.reset();
      ran_out(std::current_exception(), trainer.get(), result);
    }
    turn_.reset();
    trainer.reset();
    result.explanation = explain(router, problem());
    result.training = report_;
    publish(settings_, result, std::move(record), db);
    return code_of(end, result);
  }

 private:
  Problem problem() const {
    const auto batch = static_cast<std::size_t>(plan_.batch);
    return problem_of(plan_.config, std::vector<std::int64_t>(batch, plan_.seq_len),
                      std::vector<std::int64_t>(batch, 0));
  }

  /// The steps, and what is made of their end.
  LoopEnd trained(training::Trainer& trainer, const TokenSource& source, const Router& router,
                  RunReport& result) {
    if (!options_.no_telemetry) {
      trainer.count_backward(&backward_);
      const Reads reads = reads_of(plan_, kAllBranches);
      forward_.reads(reads.predicted, reads.actual);
      if (reads.selects) forward_.selection_rows_of(problem());
    }
    std::map<std::string, std::string> notes;
    if (options_.train.save || options_.train.resume)
      notes = notes_of(options_, report_.config, source, router);
    if (options_.train.resume) resume(settings_, *options_.train.resume, notes, trainer);
    report_.first_step = trainer.steps_done();
    const LoopEnd end = steps(trainer, source, notes, result.times);
    turn_.reset();
    finish(&trainer, result);
    if (end == LoopEnd::not_finite) report_.stopped = first_bad_tensor(trainer, source);
    if (end == LoopEnd::stopped) report_.stopped = "a signal";
    if (end != LoopEnd::not_finite) save(trainer, notes);
    return end;
  }

  /// The run ends here and stays a result. Nothing is saved: the step may be half done.
  void ran_out(const std::exception_ptr& error, const training::Trainer* trainer,
               RunReport& result) {
    const std::string what = out_of_memory_text(error);
    if (trainer) take_what_is_left(device_, *trainer, report_);
    finish(trainer, result);
    report_.stopped =
        trainer ? fmt::format("out of memory after {} steps: {}", trainer->steps_done(), what)
                : "out of memory before the first step: " + what;
  }

  LoopEnd steps(training::Trainer& trainer, const TokenSource& source,
                const std::map<std::string, std::string>& notes, RunTimes& times) {
    const LoopHooks hooks{
        [&](std::int64_t step, std::int64_t ns, const training::StepResult& result) {
          beat(step, ns, result, times);
        },
        [&] {
          save(trainer, notes);
          if (unsaved_) say(settings_, *unsaved_ + "; training goes on");
        }};
    return run_training_steps(device_, trainer, source, options_, hooks, times, report_);
  }

  /// Of the forward pass, with the slow paths and fallbacks of the backward pass.
  TelemetryReport what_ran() const {
    TelemetryReport both = forward_.report();
    const TelemetryReport backward = backward_.report();
    for (const auto& [what, calls] : backward.fallback) both.fallback[what] += calls;
    both.slow_path_calls += backward.slow_path_calls;
    return both;
  }

  void beat(std::int64_t step, std::int64_t ns, const training::StepResult& result,
            const RunTimes& times) {
    if (!heartbeat_) return;
    Heartbeat heartbeat = heartbeat_now(step, "progress");
    heartbeat.phase = "training";
    heartbeat.toks_per_s =
        static_cast<double>(times.tokens_per_step) / (static_cast<double>(ns) * 1e-9);
    if (std::isfinite(result.loss)) heartbeat.loss = result.loss;
    if (std::isfinite(result.grad_norm)) heartbeat.grad_norm = result.grad_norm;
    if (!options_.no_telemetry) heartbeat.telemetry = what_ran();
    heartbeat_->append(heartbeat);
  }

  /// Where it fails, the run goes on, and at its end its result is what is left of it.
  void save(const training::Trainer& trainer, const std::map<std::string, std::string>& notes) {
    if (!options_.train.save) return;
    unsaved_.reset();
    try {
      training::save_checkpoint(*options_.train.save, trainer, notes);
    } catch (const EnvironmentError& error) {
      unsaved_ = fmt::format("step {} is not saved: {}", trainer.steps_done(), error.what());
      return;
    }
    say(settings_, fmt::format("{}: step {}", training::checkpoint_path(*options_.train.save),
                               trainer.steps_done()));
  }

  /// `trainer` null: there was no memory for it.
  void finish(const training::Trainer* trainer, RunReport& result) {
    if (trainer) {
      report_.measured = trainer->memory();
      report_.reserved_bytes = trainer->reserved_bytes();
      report_.grow_events = trainer->grow_events();
    }
    if (allocator_) report_.allocator->peak = allocator_->peak();
    if (result.times.step_ns.empty() && result.times.first_call_ns > 0)
      result.times.step_ns.push_back(result.times.first_call_ns);
    result.telemetry = forward_.report();
    result.backward = backward_.report();
    result.memory.weights = report_.measured.weights;
    result.memory.workspace_peak = report_.measured.activations + report_.measured.workspace;
    result.telemetry.peak_workspace_bytes = result.memory.workspace_peak;
    result.telemetry.grow_events = report_.grow_events;
  }

  ExitCode code_of(LoopEnd end, const RunReport& result) {
    if (end == LoopEnd::not_finite) {
      say(settings_, "run --train: " + *report_.stopped);
      return ExitCode::found;
    }
    if (end == LoopEnd::out_of_memory || end == LoopEnd::no_data)
      throw EnvironmentError("run --train: " + *report_.stopped);
    if (unsaved_) throw EnvironmentError("run --train: " + *unsaved_);
    if (heartbeat_) heartbeat_->require_all();
    if (end == LoopEnd::stopped) return kStopped;
    return verdict(settings_, result);
  }

  const Settings& settings_;
  const RunOptions& options_;
  RunDevice device_;
  RunPlan plan_;
  std::unique_ptr<device::RunAllocator> allocator_;
  ProgressLine line_;
  std::optional<tuner::DeviceTurn> turn_;  // until the steps are timed
  TrainReport report_;
  std::optional<std::string> unsaved_;  // why the last checkpoint could not be written
  Telemetry forward_, backward_;
  std::optional<HeartbeatFile> heartbeat_;
};

}  // namespace

ExitCode train(const Settings& settings, const RunOptions& options) {
  return TrainRun(settings, options).run();
}

}  // namespace nsa::cli
