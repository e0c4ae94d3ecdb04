// What `run --train` is asked for, beside what `run` is asked for anyway.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "nsa/kernels/training.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/training_settings.hpp"

namespace nsa::cli {

struct RunPlan;
struct RunOptions;
struct Settings;

struct TrainOptions {
  bool on = false;
  std::optional<std::int64_t> accumulate;
  std::optional<std::string> checkpoint;  // "off", "all", "4-8"
  std::optional<std::string> data;        // file of tokens
  std::string data_dtype = "u8";
  std::optional<std::string> save, resume;  // folders
  std::int64_t save_every = 0;              // steps; 0 = at the end only
  bool nondeterministic = false;
  bool no_masters = false;
  std::optional<double> rate, weight_decay, max_norm;
  std::optional<std::string> rate_schedule;
  std::optional<std::int64_t> rate_warmup, rate_steps;
  std::optional<std::string> memory_limit;  // "80GiB"
  std::optional<std::string> allocator;     // of a GPU: "cudaMalloc" (default), "cudaMallocAsync"
  std::optional<std::string> pool_keep;     // "1GiB", of the latter
};

/// Declares --train and its flags on `run` (or, without those that only matter when steps run, on
/// `memory`).
void declare_train(CLI::App& sub, TrainOptions& options, bool runs = true);
/// InputError where a flag of training was given without --train.
void require_train(const TrainOptions& options);
/// "80GiB", "4.5GB", "1000000": bytes. InputError "<flag>: ...".
std::int64_t parse_bytes(const std::string& text, const char* flag);
/// Layers that are computed again; `layers` bounds them. InputError "--checkpoint: ...".
training::Checkpointed parse_checkpoint(const std::string& text, std::int64_t layers);
std::string checkpoint_text(const training::Checkpointed& checkpoint);

/// All of it: flags, then the users' config, then defaults.
training::TrainingConfig training_config(const TrainOptions& options, const RunPlan& plan,
                                         const tuner::TrainingSettings& settings);
/// The flags that would repeat it, for command_line().
std::string train_flags(const TrainOptions& options);

/// `run --train`. Exit code good; 130 where a signal ended it; found where the loss is not finite.
/// EnvironmentError where the memory does not suffice, before anything is allocated.
ExitCode train(const Settings& settings, const RunOptions& options);

}  // namespace nsa::cli
