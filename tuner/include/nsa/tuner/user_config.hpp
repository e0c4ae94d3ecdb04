// The YAML files that users of NSA train with: shape and precision out of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/sweep_spec.hpp"

namespace nsa::tuner {

/// A key that stands for a variable of the runtime, as in the users' training script: it counts
/// where the environment does not set the variable itself.
struct ConfigSwitch {
  std::string origin;  // "users.yaml:16: runtime.fa2_min_len_win"
  std::string name;    // NSA_FA2_MIN_LEN_WIN
  std::string value;
};

/// What a config says. Everything it leaves out is that of the 125M model (dim 768, 12 layers,
/// 12 heads, 2 groups, head dims 64, l 32, d 16, l' 64, n 16, w 512), fp32, one sequence of 2048.
struct UserConfig {
  Problem problem;  // prefill of batch_size sequences of seq_len tokens; `model` is filled too
  /// Keys that were read: "model.dim". Without a key of model or nsa the shape is the default one.
  std::vector<std::string> used;
  std::vector<ConfigSwitch> switches;
  /// For stderr: one line that names the keys without an effect here, one the unknown ones.
  std::vector<std::string> notes;
};

/// Reads model.{dim,n_layers,n_heads,n_kv_groups,d_k,d_v}, nsa.{l,d,l_sel,n_sel,w},
/// runtime.{precision,fa2_enabled,fa2_min_len_win,fa2_min_len_cmp} and train.{seq_len,batch_size}.
/// InputError "<where>:<line>: ..." on text that is no YAML, a value of the wrong type, a key given
/// twice, a shape that is not possible, an nsa.phi other than avg (another model), and on a key
/// that is not known unless `ignore_unknown`. `training`: no note about the keys that
/// parse_training_settings() reads.
UserConfig parse_user_config(std::string_view text, const std::string& where,
                             bool ignore_unknown = false, bool training = false);

/// The section or key that `key` ("modle.dim") is one slip away from: "modle: no such key; did you
/// mean model?". Empty where it is known, or like none: other programs have keys of their own.
std::string misspelt_key(std::string_view key);

/// The same spec for the shape and precision of the config: the base of every family gets them, and
/// axes over them are left out. Prefill of families without an axis over batches gets the config's
/// batch, which its settings are for. Lengths, phases and other batches stay the spec's.
SweepSpec with_user_config(SweepSpec spec, const UserConfig& config);

}  // namespace nsa::tuner
