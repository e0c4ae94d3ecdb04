#include "nsa/tuner/training_settings.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/yaml_text.hpp"

namespace nsa::tuner {
namespace {

constexpr std::array<std::string_view, 9> kKeys{"train.lr",
                                                "train.lr_schedule",
                                                "train.warmup_steps",
                                                "train.steps",
                                                "train.weight_decay",
                                                "train.grad_clip",
                                                "train.max_grad_norm",
                                                "train.accumulate_grad_batches",
                                                "runtime.gradient_checkpointing"};

class SectionReader {
 public:
  SectionReader(const YAML::Node& root, const char* section, const std::string& where)
      : node_(root.IsMap() ? root[section] : YAML::Node()), section_(section), where_(where) {}

  template <class T>
  void read(const char* key, const char* kind, std::optional<T>& to) const {
    if (!node_.IsDefined() || !node_.IsMap()) return;
    const YAML::Node value = node_[key];
    if (!value.IsDefined()) return;
    T read{};
    if (!value.IsScalar() || !YAML::convert<T>::decode(value, read))
      throw InputError(fmt::format("{}:{}: {}.{}: '{}' is not {}", where_, value.Mark().line + 1,
                                   section_, key,
                                   value.IsScalar() ? visible(value.Scalar()) : "...", kind));
    to = read;
  }

 private:
  YAML::Node node_;
  const char* section_;
  const std::string& where_;
};

}  // namespace

bool is_training_key(std::string_view key) { return std::ranges::find(kKeys, key) != kKeys.end(); }

TrainingSettings parse_training_settings(std::string_view text, const std::string& where) {
  const YAML::Node root = load_yaml(text, where);
  TrainingSettings settings;
  const SectionReader train(root, "train", where), runtime(root, "runtime", where);
  train.read("lr", "a number", settings.rate);
  train.read("lr_schedule", "the name of a schedule", settings.rate_schedule);
  train.read("warmup_steps", "an integer", settings.warmup_steps);
  train.read("steps", "an integer", settings.steps);
  train.read("weight_decay", "a number", settings.weight_decay);
  train.read("accumulate_grad_batches", "an integer", settings.accumulate);
  std::optional<double> clip, norm;
  train.read("grad_clip", "a number", clip);
  train.read("max_grad_norm", "a number", norm);
  if (clip && norm && *clip != *norm)
    throw InputError(fmt::format(
        "{}: train.grad_clip is {} and train.max_grad_norm is {}; keep one", where, *clip, *norm));
  settings.max_norm = clip ? clip : norm;
  runtime.read("gradient_checkpointing", "true or false", settings.checkpoint_all);
  return settings;
}

}  // namespace nsa::tuner
