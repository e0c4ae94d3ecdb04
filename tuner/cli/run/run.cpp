// run: the bundled runtime on synthetic input.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "device.hpp"
#include "device_choice.hpp"
#include "nsa/kernels/heartbeat.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/store/store.hpp"
#include "nsa/tuner/side_by_side.hpp"
#include "options.hpp"
#include "program.hpp"
#include "publish.hpp"
#include "reads.hpp"
#include "router.hpp"
#include "stage_trace.hpp"
#include "steps.hpp"
#include "sweep/progress.hpp"

namespace nsa::cli {
namespace {

constexpr std::int64_t kSlowStep_ns = 2'000'000'000;  // whoever waits longer wants to know

std::string seconds_text(std::int64_t ns) {
  return fmt::format("{:.1f} s", static_cast<double>(ns) * 1e-9);
}

/// Refuses what cannot fit, before the first allocation: weights, and the cache of a decode loop.
void check_memory(const RunDevice& device, const RunPlan& plan) {
  const RunMemory held = held_memory(plan);
  const auto need = static_cast<double>(held.weights + held.cache);
  const auto most = device.device().memory_bytes;
  if (!most || need <= static_cast<double>(*most)) return;
  throw InputError(fmt::format(
      "run: weights and cache take {:.1f} GB, {} has {:.1f} GB; take a shorter --seq-len, a "
      "smaller --batch or fewer --layers",
      need * 1e-9, device.device().id, static_cast<double>(*most) * 1e-9));
}

RunMemory memory_of(const RunPlan& plan, const Workspace& workspace, const Device& before) {
  RunMemory memory = held_memory(plan);
  memory.workspace_peak = static_cast<std::int64_t>(workspace.peak_bytes());
  if (before.backend == Backend::cpu || !before.memory_free_bytes) return memory;
  const auto now = probes::require_device(before.id).memory_free_bytes;
  if (now) memory.device_used = std::max<std::int64_t>(*before.memory_free_bytes - *now, 0);
  return memory;
}

/// A line every `every` steps, outside of the timed region.
class Heartbeats {
 public:
  Heartbeats(const Settings& settings, const RunOptions& options, const Telemetry& telemetry,
             std::int64_t tokens)
      : options_(options), telemetry_(telemetry), tokens_(tokens) {
    if (options.heartbeat) file_.emplace(settings, *options.heartbeat);
  }
  void after_step(std::int64_t step, std::int64_t ns) {
    if (!file_ || (step + 1) % options_.every != 0) return;
    const double tokens_per_s = static_cast<double>(tokens_) / (static_cast<double>(ns) * 1e-9);
    Heartbeat heartbeat = heartbeat_now(step + 1, "progress");
    heartbeat.toks_per_s = tokens_per_s;
    if (!options_.no_telemetry) heartbeat.telemetry = telemetry_.report();
    file_->append(heartbeat);
  }
  void require_all() const {
    if (file_) file_->require_all();
  }

 private:
  const RunOptions& options_;
  const Telemetry& telemetry_;
  std::int64_t tokens_;
  std::optional<HeartbeatFile> file_;
};

ExitCode run(const Settings& settings, const RunOptions& options) {
  const RunDevice device(chosen_device(settings));
  const RunPlan plan = make_run_plan(options, device.device().backend);
  std::optional<RunTracer> tracer;
  if (options.trace) tracer.emplace(device);
  for (const std::string& note : plan.notes) say(settings, "note: " + note);
  if (options.graph && !device.on_gpu()) {
    throw InputError("run: --graph captures a CUDA graph; --device cpu has none");
  }
  if (options.stage_trace && device.on_gpu())
    throw InputError("run: --stage-trace: a GPU's stages are traced by nsatune trace record");
  check_memory(device, plan);
  // Opened before anything runs, so that no run ends with a result that cannot be written.
  std::optional<WholeFile> proof_file, stage_file;
  if (options.trace && *options.trace != kNoFile) proof_file.emplace(*options.trace);
  if (options.stage_trace) stage_file.emplace(*options.stage_trace);
  const Router router = router_of(settings, device.device(), options, plan);
  const auto batch = static_cast<std::size_t>(plan.batch);
  const Problem problem = problem_of(plan.config, std::vector<std::int64_t>(batch, plan.seq_len),
                                     std::vector<std::int64_t>(batch, 0));
  Telemetry telemetry;
  Workspace workspace(device.allocator());
  Context context;
  context.stream = device.stream();
  context.router = &router;
  context.workspace = &workspace;
  StageTrace ranges(options.stage_trace.has_value());
  context.observer = &ranges;
  context.telemetry = options.no_telemetry ? nullptr : &telemetry;
  context.options = options_from(router.environment());
  context.options.branches = branch_mask(options.branches);

  Heartbeats heartbeats(settings, options, telemetry, plan.batch * plan.seq_len);
  std::optional<store::Store> db = open_database(settings, options);
  ProgressLine line(settings);
  std::optional<tuner::DeviceTurn> turn;  // until the steps are timed
  turn.emplace(device.device(), nullptr, line, options.share);
  RunRecord record = begin_record(device.device(), plan);
  RunReport report = report_of(record, device, plan, options);
  if (context.telemetry) {  // known before the first step, so that every heartbeat has them
    const Reads reads = reads_of(plan, context.options.branches);
    telemetry.reads(reads.predicted, reads.actual);
    if (reads.selects) telemetry.selection_rows_of(problem);
  }
  if (!plan.layer)
    report.predicted = predict_forward(router, plan.config, problem, context.options);
  const auto after_step = [&](std::int64_t step, std::int64_t ns) {
    if (context.telemetry) telemetry.workspace(workspace);
    heartbeats.after_step(step, ns);
    if (ns >= kSlowStep_ns)
      say(settings, fmt::format("step {} of {}: {}", step + 1, options.steps, seconds_text(ns)));
  };
  const auto after_first_call = [&](std::int64_t ns) {
    const std::int64_t left = options.warmup - 1 + options.steps;
    if (ns >= kSlowStep_ns)
      say(settings, fmt::format("first call: {}; {} steps follow, about {}", seconds_text(ns), left,
                                seconds_text(left * ns)));
  };
  report.times =
      run_steps(context, device, plan, options,
                {after_step, after_first_call, report.predicted, tracer ? &*tracer : nullptr});
  turn.reset();
  if (context.telemetry) telemetry.workspace(workspace);
  report.telemetry = telemetry.report();
  report.explanation = explain(router, problem);
  report.memory = memory_of(plan, workspace, device.device());
  if (tracer) report.proof = reports::kernel_proof_json(tracer->proof(report.telemetry));
  AllTried tried;
  tried([&] { publish(settings, report, std::move(record), db); });
  tried([&] {
    if (proof_file) proof_file->write_whole(json_text(*report.proof, 2) + "\n");
  });
  tried([&] {
    if (stage_file) stage_file->write_whole(json_text(ranges.chrome_json()) + "\n");
  });
  tried([&] { heartbeats.require_all(); });
  tried.rethrow();
  return verdict(settings, report);
}

}  // namespace

void add_run(Program& program) {
  constexpr std::int64_t kTrainingSteps = 50;
  auto options = std::make_shared<RunOptions>();
  CLI::App* sub = program.add(
      "run", "The bundled NSA runtime on synthetic input: tok/s, share of the peak, what ran",
      "  nsatune run --preset 125m --seq-len 2048 --thresholds thresholds.json\n"
      "  nsatune run --preset 125m --seq-len 2048 --attention dense\n"
      "  nsatune run --preset layer --seq-len 2048 --db nightly.sqlite && nsatune report results "
      "--db nightly.sqlite\n"
      "  nsatune run --config model.yaml --branches win,cmp --layers 2 --strict\n"
      "  nsatune run --preset layer --seq-len 1024 --decode 32 --json\n"
      "  nsatune run --preset layer --seq-len 65536 --decode 100 --graph --device cuda:0\n"
      "  nsatune run --preset 125m --seq-len 2048 --device cuda:0 --trace proof.json\n"
      "  nsatune run --preset tiny --train --seq-len 256 --batch 4 --steps 100 --save trained "
      "--device cpu\n"
      "  nsatune run --config model.yaml --train --data corpus.bin --resume trained --device cpu",
      [&program, options] {
        RunOptions checked = *options;
        if (checked.no_db && program.settings.db)
          throw InputError(
              "run: --db names where the result is kept, --no-db keeps none; drop one");
        if (checked.strict && checked.no_telemetry) {
          throw InputError(
              "run: --strict counts what ran, --no-telemetry counts nothing; drop one");
        }
        if (checked.trace && checked.no_telemetry) {
          throw InputError(
              "run: --trace proves what was counted, --no-telemetry counts nothing; drop one");
        }
        if (!checked.train.on) return run(program.settings, checked);
        const CLI::App& given = *program.app.get_subcommand("run");
        if (given.count("--steps") == 0) checked.steps = kTrainingSteps;
        if (given.count("--warmup") > 0)
          throw InputError(
              "run --train: only the first step is untimed, and no flag adds others; drop "
              "--warmup");
        return train(program.settings, checked);
      });
  declare(*sub, *options);
}

}  // namespace nsa::cli
