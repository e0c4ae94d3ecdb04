// What the users' YAML says of training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nsa::tuner {

/// Keys of `train`, and runtime.gradient_checkpointing; absent where the file does not have them.
struct TrainingSettings {
  std::optional<double> rate, weight_decay, max_norm;  // lr, weight_decay, grad_clip
  std::optional<std::string> rate_schedule;            // lr_schedule
  std::optional<std::int64_t> warmup_steps, steps;     // steps: length of the whole training
  std::optional<std::int64_t> accumulate;              // accumulate_grad_batches
  std::optional<bool> checkpoint_all;                  // runtime.gradient_checkpointing
};

/// The key is one that training reads: "train.lr".
bool is_training_key(std::string_view key);
/// Of a file that parse_user_config() accepts. InputError "<where>:<line>: ..." on a value of the
/// wrong type, and where grad_clip and max_grad_norm say two things.
TrainingSettings parse_training_settings(std::string_view text, const std::string& where);

}  // namespace nsa::tuner
