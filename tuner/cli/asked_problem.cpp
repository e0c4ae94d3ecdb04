#include "asked_problem.hpp"

namespace nsa::cli {

void declare_problem(CLI::App& sub, AskedProblem& o) {
  CLI::Option* preset =
      sub.add_option("--preset", o.run.preset, "Shape of a built-in model (default: 125m)")
          ->check(has_values(model_preset_names()));
  declare_config(sub, o.run.config, o.run.ignore_unknown, "Shape and precision of your YAML")
      ->excludes(preset);
  sub.add_option("--seq-len", o.run.seq_len, "New tokens per sequence (default 2048)");
  sub.add_option("--context-len", o.context_len, "Tokens already in the cache (default 0)");
  sub.add_option("--batch", o.run.batch, "Sequences (default 1)");
  sub.add_option("--dtype", o.run.dtype, "Of storage (default: bf16 on a GPU, fp32 on a CPU)")
      ->check(has_values(dtype_names()));
  sub.add_option("--overlap", o.overlap, "Share of blocks that neighbouring queries share, 0 to 1");
  sub.add_option(
         "--direction", o.direction,
         "forward (default); backward: the stages' gradients; forward_saving: forward launches of "
         "training, which also save what the backward pass reads; forward_backward: both passes of "
         "attention, layer and model")
      ->check(CLI::IsMember({"forward", "backward", "forward_saving", "forward_backward"}));
}

AskedShape shape_from(const Settings& settings, const AskedProblem& o, Backend backend) {
  if (o.context_len < 0)
    throw InputError("--context-len: " + std::to_string(o.context_len) + " is below 0");
  if (o.overlap && !(*o.overlap >= 0 && *o.overlap <= 1))
    throw InputError("--overlap: must be a share from 0 to 1");
  const RunPlan plan = make_run_plan(o.run, backend);
  for (const std::string& note : plan.notes) say(settings, "note: " + note);
  const auto batch = static_cast<std::size_t>(plan.batch);
  Problem p = problem_of(plan.config, std::vector<std::int64_t>(batch, plan.seq_len),
                         std::vector<std::int64_t>(batch, o.context_len));
  p.selection.overlap = o.overlap;
  p.direction = from_string<Direction>(o.direction).value();
  require_valid(p, "the shape");
  return {std::move(p), plan.switches, o.context_len > 0 || plan.length_given};
}

Problem problem_from(const Settings& settings, const AskedProblem& asked, Backend backend) {
  return shape_from(settings, asked, backend).problem;
}

}  // namespace nsa::cli
