#include "train/options.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "program.hpp"
#include "run/options.hpp"

namespace nsa::cli {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A value, and what gave it: a flag or a key of the config.
template <class T>
struct Given {
  T value;
  const char* name;

  T between(double least, double most) const {
    const auto number = static_cast<double>(value);
    if (number >= least && number <= most) return value;
    throw InputError(fmt::format("{}: {} is not between {} and {}", name, value, least, most));
  }
};

/// The flag is asked first.
template <class T>
Given<T> given(const std::optional<T>& by_flag, const char* flag, const std::optional<T>& by_config,
               const char* key, T otherwise) {
  if (by_flag) return {*by_flag, flag};
  if (by_config) return {*by_config, key};
  return {std::move(otherwise), flag};
}

constexpr double kMostSteps = 1e15;

training::LearningRate rate_from(const TrainOptions& o, const tuner::TrainingSettings& settings) {
  training::LearningRate rate;
  rate.peak = given(o.rate, "--lr", settings.rate, "train.lr", rate.peak).between(0, 1e3);
  rate.warmup_steps = given(o.rate_warmup, "--lr-warmup", settings.warmup_steps,
                            "train.warmup_steps", std::int64_t{0})
                          .between(0, kMostSteps);
  rate.total_steps =
      given(o.rate_steps, "--lr-steps", settings.steps, "train.steps", std::int64_t{0})
          .between(0, kMostSteps);
  const auto [schedule, named_by] = given(o.rate_schedule, "--lr-schedule", settings.rate_schedule,
                                          "train.lr_schedule", std::string("constant"));
  const auto known = training::schedule_from_string(schedule);
  if (!known)
    throw InputError(
        fmt::format("{}: {} is not one of constant, linear, cosine", named_by, visible(schedule)));
  rate.schedule = *known;
  const bool falls = rate.schedule != training::RateSchedule::constant;
  if (!falls && o.rate_steps)
    throw InputError(
        "--lr-steps: a constant learning rate has no end; use --lr-schedule linear or cosine");
  if (falls && rate.total_steps == 0)
    throw InputError(fmt::format(
        "--lr-schedule: {} falls over the whole training; say how many steps that is by --lr-steps",
        schedule));
  if (falls && rate.total_steps <= rate.warmup_steps)
    throw InputError(
        fmt::format("--lr-steps: {} ends before the warm-up does; {} needs more steps than the {} "
                    "of --lr-warmup",
                    rate.total_steps, schedule, rate.warmup_steps));
  return rate;
}

}  // namespace

void declare_train(CLI::App& sub, TrainOptions& o, bool runs) {
  CLI::Option* train = sub.add_flag(
      "--train", o.on,
      runs ? "Train: forward, backward, clipping and AdamW in each step (docs/training.md)"
           : "A training step: includes gradients, optimizer state and kept activations");
  const auto of_training = [train](CLI::Option* option) { return option->needs(train); };
  of_training(sub.add_option("--accumulate", o.accumulate,
                             "Batches whose gradients one step adds up (default 1)"));
  of_training(sub.add_option("--checkpoint", o.checkpoint,
                             "Layers whose activations are computed again in the backward pass: "
                             "off (default), all, or 4-8, both ends included, from 0"));
  of_training(sub.add_flag("--no-masters", o.no_masters,
                           "No fp32 copies of bf16 or fp16 weights: AdamW moves and rounds the "
                           "weights themselves"));
  of_training(sub.add_flag("--nondeterministic", o.nondeterministic,
                           "Allow rows that are not bitwise reproducible"));
  if (!runs) return;
  CLI::Option* data = of_training(sub.add_option("--data", o.data,
                                                 "File of tokens, taken in random pieces of "
                                                 "--seq-len + 1 (default: synthetic)"));
  of_training(sub.add_option("--data-type", o.data_dtype, "u8: its bytes (default), or u16")
                  ->check(CLI::IsMember({"u8", "u16"})))
      ->needs(data);
  of_training(sub.add_option("--save", o.save,
                             "Folder that the checkpoint is written to at the "
                             "end (safetensors)"));
  of_training(sub.add_option("--save-every", o.save_every, "Also save every N steps"));
  of_training(sub.add_option("--resume", o.resume, "Folder of a checkpoint to continue from"));
  of_training(sub.add_option("--lr", o.rate, "Learning rate (default 2e-4)"));
  of_training(sub.add_option("--lr-schedule", o.rate_schedule,
                             "constant (default), or linear or cosine to 0 at --lr-steps"));
  of_training(
      sub.add_option("--lr-warmup", o.rate_warmup, "Steps of a linear warm-up (default 0)"));
  of_training(sub.add_option("--lr-steps", o.rate_steps, "Steps of the whole training"));
  of_training(
      sub.add_option("--weight-decay", o.weight_decay, "Weight decay of AdamW (default 0)"));
  of_training(sub.add_option(
      "--clip", o.max_norm, "Largest norm of all gradients together (default 1; 0 = no clipping)"));
  of_training(sub.add_option("--memory-limit", o.memory_limit,
                             "Refuse what needs more than this, such as 80GiB (default: what the "
                             "device has free)"));
  CLI::Option* allocator =
      of_training(
          sub.add_option(
              "--allocator", o.allocator,
              "How GPU memory is allocated: cudaMalloc (default), or cudaMallocAsync from a pool"))
          ->check(CLI::IsMember({"cudaMalloc", "cudaMallocAsync"}));
  of_training(sub.add_option(
                  "--pool-keep", o.pool_keep,
                  "How much freed memory cudaMallocAsync's pool keeps, such as 1GiB (default 0)"))
      ->needs(allocator);
}

std::int64_t parse_bytes(const std::string& text, const char* flag) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr Unit kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
      {"B", 1.0},      {"", 1.0}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    if (error != std::errc{} || rest != unit.name) continue;
    const double bytes = number * unit.bytes;
    if (bytes >= 1 && bytes < 9e18) return static_cast<std::int64_t>(bytes);
  }
  throw InputError(fmt::format("{}: {} is not a size such as 80GiB, 4.5GB or 1000000", flag, text));
}

training::Checkpointed parse_checkpoint(const std::string& text, std::int64_t layers) {
  if (text == "off") return {};
  if (text == "all") return {0, layers - 1};
  const std::size_t dash = text.find('-');
  const auto first = whole(std::string_view(text).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : whole(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first > *last || *first < 0)
    throw InputError("--checkpoint: " + text + " is not off, all, or layers such as 4-8");
  if (*last >= layers)
    throw InputError(fmt::format("--checkpoint: layer {} is not there; the model has 0 to {}",
                                 *last, layers - 1));
  return {*first, *last};
}

std::string checkpoint_text(const training::Checkpointed& c) {
  return c.last < c.first ? "off" : fmt::format("{}-{}", c.first, c.last);
}

training::TrainingConfig training_config(const TrainOptions& o, const RunPlan& plan,
                                         const tuner::TrainingSettings& settings) {
  training::TrainingConfig config;
  config.model = plan.config;
  config.seq_len = plan.seq_len;
  config.batch = plan.batch;
  config.accumulate = given(o.accumulate, "--accumulate", settings.accumulate,
                            "train.accumulate_grad_batches", std::int64_t{1})
                          .between(1, 65536);
  const bool all = settings.checkpoint_all.value_or(false);
  config.checkpoint =
      parse_checkpoint(o.checkpoint.value_or(all ? "all" : "off"), plan.config.layers);
  config.masters = !o.no_masters;
  config.deterministic = !o.nondeterministic;
  config.rate = rate_from(o, settings);
  config.optimizer.weight_decay =
      given(o.weight_decay, "--weight-decay", settings.weight_decay, "train.weight_decay", 0.0)
          .between(0, 1e3);
  config.optimizer.max_norm =
      given(o.max_norm, "--clip", settings.max_norm, "train.grad_clip", 1.0).between(0, 1e9);
  if (o.save_every < 0) throw InputError("--save-every: a number of steps, or 0");
  if (o.save_every > 0 && !o.save)
    throw InputError("--save-every: needs --save, the folder to save to");
  return config;
}

std::string train_flags(const TrainOptions& o) {
  if (!o.on) return "";
  std::string text = " --train";
  if (o.accumulate) text += fmt::format(" --accumulate {}", *o.accumulate);
  if (o.checkpoint) text += " --checkpoint " + *o.checkpoint;
  if (o.no_masters) text += " --no-masters";
  if (o.nondeterministic) text += " --nondeterministic";
  if (o.data) text += " --data " + *o.data;
  if (o.data_dtype != "u8") text += " --data-type " + o.data_dtype;
  if (o.save) text += " --save " + *o.save;
  if (o.save_every > 0) text += fmt::format(" --save-every {}", o.save_every);
  if (o.resume) text += " --resume " + *o.resume;
  if (o.rate) text += fmt::format(" --lr {}", *o.rate);
  if (o.rate_schedule) text += " --lr-schedule " + *o.rate_schedule;
  if (o.rate_warmup) text += fmt::format(" --lr-warmup {}", *o.rate_warmup);
  if (o.rate_steps) text += fmt::format(" --lr-steps {}", *o.rate_steps);
  if (o.weight_decay) text += fmt::format(" --weight-decay {}", *o.weight_decay);
  if (o.max_norm) text += fmt::format(" --clip {}", *o.max_norm);
  if (o.memory_limit) text += " --memory-limit " + *o.memory_limit;
  if (o.allocator) text += " --allocator " + *o.allocator;
  if (o.pool_keep) text += " --pool-keep " + *o.pool_keep;
  return text;
}

}  // namespace nsa::cli
