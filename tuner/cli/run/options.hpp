// What `run` is asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/kernels/runtime.hpp"
#include "nsa/tuner/training_settings.hpp"
#include "nsa/tuner/user_config.hpp"
#include "train/options.hpp"

namespace nsa::cli {

/// `--trace` without a FILE.
inline constexpr const char* kNoFile = "-";

struct RunOptions {
  std::string preset = "125m";
  std::optional<std::string> config;  // a user's YAML
  std::optional<std::int64_t> seq_len, batch, layers, kv_heads, decode;
  std::optional<std::string> dtype;
  std::string attention = "nsa";
  std::vector<std::string> branches;  // of cmp, sel, win; empty = all
  std::optional<std::string> thresholds;
  std::int64_t warmup = 1, steps = 3, every = 1;
  std::uint64_t seed = 1;
  std::optional<std::string> heartbeat;
  /// Prove what ran by the kernels that CUPTI sees; the file of the proof, or kNoFile.
  std::optional<std::string> trace;
  std::optional<std::string> stage_trace;  // Chrome trace of the stages on a CPU
  TrainOptions train;
  bool ignore_unknown = false;  // keys of the YAML
  bool no_thresholds = false;
  bool graph = false;  // replay a CUDA graph of the step
  bool no_telemetry = false;
  bool no_db = false;
  bool strict = false;
  bool share = false;  // the device with others
};

/// Declares --config with this help, and --ignore-unknown; returns the former.
CLI::Option* declare_config(CLI::App& sub, std::optional<std::string>& config, bool& ignore_unknown,
                            const std::string& help);

/// Declares the flags that say which model, at which lengths, with which thresholds.
void declare_model(CLI::App& sub, RunOptions& options);
/// Declares the flags of `run` on its subcommand.
void declare(CLI::App& sub, RunOptions& options);

/// The model and how it is fed. `layer` true: one attention layer, without embedding, MLP and head.
struct RunPlan {
  ModelConfig config;
  bool layer = false;
  bool dense_sdpa = false;  // dense attention by the vendor's rows
  std::int64_t seq_len = 2048, batch = 1, decode = 0;
  bool length_given = false;                  // by a flag or the config
  std::vector<std::string> notes;             // about the user's config, for stderr
  std::vector<tuner::ConfigSwitch> switches;  // of that config
  tuner::TrainingSettings training;           // likewise, where it is trained
};
/// For a device of that back end. InputError where flags contradict each other or a constraint.
RunPlan make_run_plan(const RunOptions& options, Backend backend);
std::vector<std::string> model_preset_names();
/// The precisions that --dtype takes.
std::vector<std::string> dtype_names();
/// The preset that has this shape, whatever its dtype; nothing where none has. `layer`: of those of
/// one attention layer.
std::optional<std::string> preset_name_of(const ModelConfig& config, bool layer);
/// cmp, sel, win -> bits 0, 1, 2.
unsigned branch_mask(const std::vector<std::string>& branches);

}  // namespace nsa::cli
