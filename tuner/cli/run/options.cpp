#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/schemas/text.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

struct Preset {
  std::string_view name;
  bool layer;
  ModelConfig config;
};

ModelConfig tiny_model() {
  ModelConfig c;
  c.name = "tiny";
  c.model_dim = 256;
  c.layers = 2;
  c.q_heads = 8;
  c.kv_heads = 2;
  c.head_dim_k = c.head_dim_v = 32;
  return c;
}

ModelConfig paper_layer() {
  ModelConfig c;
  c.name = "paper-layer";
  c.model_dim = 2560;
  c.layers = 1;
  c.q_heads = 64;
  c.kv_heads = 4;
  c.head_dim_k = 192;
  c.head_dim_v = 128;
  return c;
}

ModelConfig layer_of_125m() {
  ModelConfig c;
  c.name = "layer";
  c.layers = 1;
  return c;
}

std::vector<Preset> presets() {
  return {{"125m", false, ModelConfig{}},
          {"tiny", false, tiny_model()},
          {"layer", true, layer_of_125m()},
          {"paper-layer", true, paper_layer()}};
}

/// BF16 and 125M are what people write.
std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Preset find_preset(const std::string& name) {
  for (const Preset& preset : presets()) {
    if (preset.name == lower(name)) return preset;
  }
  const std::vector<std::string> all = model_preset_names();
  const std::vector<std::string_view> names(all.begin(), all.end());
  throw InputError(fmt::format("--preset: {} is not one of {}{}", name, fmt::join(names, ", "),
                               did_you_mean(lower(name), names)));
}

void apply_config(const RunOptions& options, RunPlan& plan) {
  const std::string text = read_text_file(*options.config);
  const tuner::UserConfig user =
      tuner::parse_user_config(text, *options.config, options.ignore_unknown, options.train.on);
  if (options.train.on) plan.training = tuner::parse_training_settings(text, *options.config);
  plan.config = config_of(user.problem);
  plan.config.name = *options.config;
  plan.config.vocab_size = std::max<std::int64_t>(plan.config.vocab_size, 256);  // byte tokens
  plan.seq_len = user.problem.max_seq_len();
  plan.batch = user.problem.batch();
  plan.length_given = std::ranges::find(user.used, "train.seq_len") != user.used.end();
  plan.notes = user.notes;
  plan.switches = user.switches;
}

Dtype parse_dtype(const std::string& name) {
  const std::optional<Dtype> dtype = from_string<Dtype>(lower(name));
  if (!dtype || *dtype == Dtype::int32) {
    throw InputError(
        fmt::format("--dtype: {} is not one of {}", name, fmt::join(dtype_names(), ", ")));
  }
  return *dtype;
}

void require_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw InputError(std::string(flag) + ": " + std::to_string(value) + " is not between " +
                   std::to_string(least) + " and " + std::to_string(most));
}

void set_kv_heads(ModelConfig& config, std::int64_t heads) {
  if (heads < 1 || config.q_heads % heads != 0) {
    throw InputError("--kv-heads: " + std::to_string(heads) + " is not a divisor of the " +
                     std::to_string(config.q_heads) + " query heads");
  }
  config.kv_heads = heads;
}

}  // namespace

std::vector<std::string> model_preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::vector<std::string> dtype_names() { return {"fp64", "fp32", "bf16", "fp16"}; }

CLI::Option* declare_config(CLI::App& sub, std::optional<std::string>& config, bool& ignore_unknown,
                            const std::string& help) {
  CLI::Option* option = sub.add_option("--config", config, help);
  sub.add_flag("--ignore-unknown", ignore_unknown,
               "Ignore unknown keys of --config instead of refusing it")
      ->needs(option);
  return option;
}

void declare_model(CLI::App& sub, RunOptions& o) {
  CLI::Option* preset =
      sub.add_option("--preset", o.preset, "Model that is built in (default: 125m)")
          ->check(has_values(model_preset_names()));
  declare_config(sub, o.config, o.ignore_unknown,
                 "Your model: YAML with sections model, nsa, runtime, train")
      ->excludes(preset);
  sub.add_option("--seq-len", o.seq_len, "New tokens per sequence (default 2048)");
  sub.add_option("--batch", o.batch, "Sequences (default 1)");
  sub.add_option("--layers", o.layers, "Keep only N layers");
  sub.add_option("--kv-heads", o.kv_heads,
                 "Another number of KV heads, a divisor of the query heads");
  sub.add_option("--dtype", o.dtype,
                 "Of storage; accumulation is fp32 (default: bf16 on a GPU, fp32 on a CPU)")
      ->check(has_values(dtype_names()));
  sub.add_option("--attention", o.attention,
                 "nsa; dense: the same model with dense attention; dense_sdpa: that by cuDNN, on a "
                 "GPU")
      ->check(CLI::IsMember({"nsa", "dense", "dense_sdpa"}));
  CLI::Option* thresholds =
      sub.add_option("--thresholds", o.thresholds, "Thresholds file or folder of such files");
  sub.add_flag("--no-thresholds", o.no_thresholds, "Built-in order only, whatever files there are")
      ->excludes(thresholds);
}

void declare(CLI::App& sub, RunOptions& o) {
  declare_model(sub, o);
  sub.add_option(
      "--decode", o.decode,
      "After the prefill, time N decode steps one by one, then N more without waiting for each");
  sub.add_option("--branches", o.branches, "Compute only these branches: cmp,sel,win")
      ->delimiter(',');
  sub.add_flag("--graph", o.graph,
               "Capture the step as a CUDA graph and time its replays; a decode step likewise");
  sub.add_option("--warmup", o.warmup, "Untimed steps first (default 1)");
  sub.add_option("--steps", o.steps, "Timed steps (default 3; 50 with --train)");
  sub.add_option("--every", o.every, "Steps between two heartbeats (default 1)");
  sub.add_option("--seed", o.seed, "Seed of weights and tokens")->check(whole_number());
  sub.add_option("--heartbeat", o.heartbeat, "Append heartbeat JSONL to this file");
  sub.add_flag("--no-db", o.no_db, "Do not keep the result in the database");
  sub.add_flag("--no-telemetry", o.no_telemetry, "Do not count what ran");
  sub.add_option("--trace", o.trace,
                 "Prove each row by the kernels that CUPTI sees in a step of its own; exit 1 where "
                 "others ran than it says. The proof goes into the result and, as JSON, into FILE")
      ->expected(0, 1)
      ->default_str(kNoFile)
      ->type_name("[FILE]");
  sub.add_option("--stage-trace", o.stage_trace,
                 "Write when each stage ran to this file, as a Chrome trace; on a CPU");
  sub.add_flag("--strict", o.strict, "Exit 1 when a slow path ran or a choice fell back");
  declare_train(sub, o.train);
  declare_share(sub, o.share);
}

std::optional<std::string> preset_name_of(const ModelConfig& config, bool layer) {
  const auto shape = [&](const ModelConfig& c) {
    return std::tuple(
        c.model_dim, c.q_heads, c.kv_heads, c.head_dim_k, c.head_dim_v,
        layer ? std::pair<std::int64_t, std::int64_t>() : std::pair(c.layers, c.vocab_size));
  };
  for (const Preset& preset : presets()) {
    if (preset.layer == layer && shape(preset.config) == shape(config) &&
        preset.config.geometry == config.geometry)
      return std::string(preset.name);
  }
  return std::nullopt;
}

unsigned branch_mask(const std::vector<std::string>& branches) {
  if (branches.empty()) return 7;
  constexpr std::array<std::string_view, 3> kNames{"cmp", "sel", "win"};
  unsigned mask = 0;
  for (const std::string& branch : branches) {
    unsigned bit = 0;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (branch == kNames[i]) bit = 1u << i;
    }
    if (!bit) throw InputError("--branches: " + branch + " is not one of cmp, sel, win");
    mask |= bit;
  }
  return mask;
}

RunPlan make_run_plan(const RunOptions& o, Backend backend) {
  const Preset preset = find_preset(o.preset);
  RunPlan plan;
  plan.config = preset.config;
  plan.layer = preset.layer;
  // What one runs on a GPU; a config says itself what it wants.
  if (backend == Backend::cuda) plan.config.dtype = Dtype::bf16;
  if (o.config) {
    plan.layer = false;
    apply_config(o, plan);
  }
  if (o.layers) {
    require_range("--layers", *o.layers, 1, plan.config.layers);
    plan.config.layers = *o.layers;
  }
  if (o.kv_heads) set_kv_heads(plan.config, *o.kv_heads);
  if (o.dtype) plan.config.dtype = parse_dtype(*o.dtype);
  if (o.attention != "nsa") {
    if (!o.branches.empty())
      throw InputError("--branches: dense attention has none; drop it, or --attention " +
                       o.attention);
    plan.config.attention = AttentionKind::dense;
    plan.dense_sdpa = o.attention != "dense";
    if (plan.dense_sdpa && backend == Backend::cpu)
      throw InputError(
          "--attention dense_sdpa: a CPU has no cuDNN; take --attention dense, or "
          "--device cuda:0");
  }
  plan.seq_len = o.seq_len.value_or(plan.seq_len);
  plan.length_given |= o.seq_len.has_value();
  plan.batch = o.batch.value_or(plan.batch);
  plan.decode = o.decode.value_or(0);
  require_range("--seq-len", plan.seq_len, 1, std::int64_t{1} << 24);
  require_range("--batch", plan.batch, 1, kMaxProblemBatch);
  require_range("--decode", plan.decode, 0, std::int64_t{1} << 24);
  require_range("--steps", o.steps, 1, 1'000'000);
  require_range("--warmup", o.warmup, 0, 1'000'000);
  require_range("--every", o.every, 1, 1'000'000);
  branch_mask(o.branches);
  if (plan.seq_len > kMaxProblemTokens / plan.batch)
    throw InputError(fmt::format(
        "--batch: {} sequences of {} tokens are more than the {} of one batch; take a smaller "
        "--batch or a shorter --seq-len",
        plan.batch, plan.seq_len, kMaxProblemTokens));
  const auto batch = static_cast<std::size_t>(plan.batch);
  require_valid(problem_of(plan.config, std::vector<std::int64_t>(batch, plan.seq_len),
                           std::vector<std::int64_t>(batch, 0)),
                o.config.value_or("run"));
  return plan;
}

}  // namespace nsa::cli
