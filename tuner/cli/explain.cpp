#include <filesystem>
#include <memory>

#include "explain_foreign.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/explain.hpp"
#include "program.hpp"
#include "routing_inputs.hpp"
#include "run_options.hpp"

namespace nsa::cli {
namespace {

struct ExplainOptions {
  std::optional<std::string> file;
  RunOptions run;  // preset, config, seq-len, batch, dtype
  std::int64_t context_len = 0;
  std::optional<double> overlap;
  bool built_in = false;
};

Problem problem_from(const Settings& settings, const ExplainOptions& o, Backend backend) {
  if (o.context_len < 0)
    throw InputError("--context-len: " + std::to_string(o.context_len) + " is below 0");
  if (o.overlap && !(*o.overlap >= 0 && *o.overlap <= 1))
    throw InputError("--overlap: is no share from 0 to 1");
  const RunPlan plan = make_run_plan(o.run, backend);
  for (const std::string& note : plan.notes) say(settings, "note: " + note);
  const auto batch = static_cast<std::size_t>(plan.batch);
  Problem p = problem_of(plan.config, std::vector<std::int64_t>(batch, plan.seq_len),
                         std::vector<std::int64_t>(batch, o.context_len));
  p.selection.overlap = o.overlap;
  require_valid(p, "explain");
  return p;
}

/// A file is read for the device that it was decided on, wherever that is: then what this build
/// and machine lack is not asked. A folder is searched for this machine's.
std::optional<Router::Inputs> review_of(const Settings& settings, const ExplainOptions& o) {
  if (!o.file || settings.device || std::filesystem::is_directory(*o.file)) return std::nullopt;
  Router::Inputs inputs;
  inputs.table = load_thresholds(*o.file);
  inputs.table_path = *o.file;
  inputs.device = inputs.table->device;
  inputs.review = true;
  return inputs;
}

Router router_of(const Settings& settings, const ExplainOptions& o) {
  if (auto inputs = review_of(settings, o)) return make_router(settings, std::move(*inputs));
  const Device device = probes::require_device(settings.device.value_or("cpu"));
  return make_router(settings, device, o.file, o.built_in);
}

ExitCode run(const Settings& settings, const ExplainOptions& o) {
  const Device here = probes::require_device(settings.device.value_or("cpu"));
  if (const auto foreign = foreign_table(o.file, here))
    return explain_foreign(settings, *foreign,
                           problem_from(settings, o, foreign->table.device.backend));
  const Router router = router_of(settings, o);
  const Problem problem = problem_from(settings, o, router.inputs().device.backend);
  const ExplainReport report = explain(router, problem);
  if (settings.json) {
    print_json(explain_to_json(report));
  } else {
    print_text(reports::explain_text(report, {.color = settings.color_out()}));
  }
  return ExitCode::good;
}

}  // namespace

void add_explain(Program& program) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* sub =
      program.add("explain", "Every decision for one problem: what runs, why, on what evidence",
                  "  nsatune explain thresholds.json --seq-len 2048\n"
                  "  nsatune explain kernels/tuned/nvidia_h200.json --dtype fp32 --seq-len 65536\n"
                  "  NSA_FORCE_SEL_MASK=1 nsatune explain thresholds.json --seq-len 8192 --json",
                  [&program, o] { return run(program.settings, *o); });
  CLI::Option* file = sub->add_option(
      "file", o->file,
      "Thresholds file, read for the device that it was decided on unless --device names one "
      "(default: where the runtime looks)");
  CLI::Option* preset =
      sub->add_option("--preset", o->run.preset, "Shape: 125m (default), tiny, layer, paper-layer");
  sub->add_option("--config", o->run.config, "Shape and precision of your YAML")->excludes(preset);
  sub->add_option("--seq-len", o->run.seq_len, "New tokens per sequence (default 2048)");
  sub->add_option("--context-len", o->context_len, "Tokens already in the cache (default 0)");
  sub->add_option("--batch", o->run.batch, "Sequences (default 1)");
  sub->add_option("--dtype", o->run.dtype,
                  "fp64, fp32, bf16, fp16 (default: bf16 on a GPU, fp32 on a CPU)");
  sub->add_option("--overlap", o->overlap,
                  "Share of blocks that neighbouring queries share, 0 to 1");
  sub->add_flag("--no-thresholds", o->built_in, "Only what is built in")->excludes(file);
}

}  // namespace nsa::cli
