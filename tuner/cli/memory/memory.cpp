// memory: what a forward pass or a training step will hold, before anything runs.
#include <fmt/format.h>

#include <memory>

#include "device_choice.hpp"
#include "nsa/kernels/forward_bytes.hpp"
#include "nsa/kernels/training.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/schemas/text.hpp"
#include "program.hpp"
#include "run/options.hpp"
#include "run/report.hpp"
#include "run/router.hpp"
#include "train/report.hpp"

namespace nsa::cli {
namespace {

/// The longest that can be asked for, of few sequences.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

struct MemoryPlanOptions {
  RunOptions run;
  std::optional<std::string> limit;
};

/// What is asked, and who answers.
class Predictor {
 public:
  Predictor(const Settings& settings, const RunOptions& options)
      : options_(options),
        device_(chosen_device(settings)),
        plan_(make_run_plan(options, device_.backend)),
        router_(router_of(settings, device_, options, plan_)) {
    if (plan_.layer)
      throw InputError("memory: --preset " + options.preset +
                       " is one attention layer; report memory has its stages");
    for (const std::string& note : plan_.notes) say(settings, "note: " + note);
    if (options.train.on) training_ = training_config(options.train, plan_, plan_.training);
  }

  training::TrainingMemory of(std::int64_t batch, std::int64_t seq_len) const {
    return training_ ? of_step(batch, seq_len) : of_forward(batch, seq_len);
  }
  const RunPlan& plan() const noexcept { return plan_; }
  const Device& device() const noexcept { return device_; }
  const std::optional<training::TrainingConfig>& training() const noexcept { return training_; }

 private:
  training::TrainingMemory of_step(std::int64_t batch, std::int64_t seq_len) const {
    training::TrainingConfig config = *training_;
    config.batch = batch;
    config.seq_len = seq_len;
    return predict_memory(router_, config, options_from(router_.environment()));
  }

  training::TrainingMemory of_forward(std::int64_t batch, std::int64_t seq_len) const {
    const auto n = static_cast<std::size_t>(batch);
    const Problem p = problem_of(plan_.config, std::vector<std::int64_t>(n, seq_len),
                                 std::vector<std::int64_t>(n, 0));
    const ForwardBytes bytes =
        predict_forward(router_, plan_.config, p, options_from(router_.environment()));
    training::TrainingMemory memory;
    memory.weights = bytes.weights;
    memory.workspace = bytes.workspace;
    memory.inputs = bytes.inputs;
    return memory;
  }

  const RunOptions& options_;
  Device device_;
  RunPlan plan_;
  Router router_;
  std::optional<training::TrainingConfig> training_;
};

/// The largest number up to `most` for which `fits` holds; it holds for all below.
template <class Fits>
std::optional<std::int64_t> largest(std::int64_t most, const Fits& fits) {
  std::int64_t good = 0, bad = 1;
  while (bad <= most && fits(bad)) good = bad, bad *= 2;
  bad = std::min(bad, most + 1);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  if (good == 0) return std::nullopt;
  return good;
}

Json or_null(const std::optional<std::int64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json document_of(const Predictor& p, const std::optional<std::int64_t>& limit) {
  const RunPlan& plan = p.plan();
  const training::TrainingMemory memory = p.of(plan.batch, plan.seq_len);
  Json document{{"device", p.device()},
                {"model", plan.config.name},
                {"dtype", to_string(plan.config.dtype)},
                {"seq_len", plan.seq_len},
                {"batch", plan.batch},
                {"training", p.training().has_value()}};
  if (p.training()) document["checkpoint"] = checkpoint_text(p.training()->checkpoint);
  document["peak_bytes"] = memory.peak();
  document["parts"] = parts_json(memory);
  if (!limit) return document;
  document["limit_bytes"] = *limit;
  document["fits"] = memory.peak() <= *limit;
  const std::int64_t most_batch = std::min(kMaxProblemBatch, kMaxProblemTokens / plan.seq_len);
  const std::int64_t most_tokens = std::min(kMostTokens, kMaxProblemTokens / plan.batch);
  document["largest_batch"] = or_null(
      largest(most_batch, [&](std::int64_t b) { return p.of(b, plan.seq_len).peak() <= *limit; }));
  document["largest_seq_len"] = or_null(
      largest(most_tokens, [&](std::int64_t s) { return p.of(plan.batch, s).peak() <= *limit; }));
  document["most_batch"] = most_batch;
  document["most_seq_len"] = most_tokens;
  return document;
}

std::string gigabytes(const Json& bytes) {
  return fmt::format("{:>10.3f} GB", bytes.get<double>() * 1e-9);
}

/// In the unit of the peak, or in bytes where that would round it to nothing.
std::string limit_text(std::int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} B", bytes)
                           : fmt::format("{:.3f} GB", static_cast<double>(bytes) * 1e-9);
}

/// "room for a batch of 12 at this length, or for sequences of 4096 tokens at this batch"; what has
/// no room even as the smallest is named so, and so is what has room as the largest.
std::string room_text(const Json& d) {
  const auto batch = [](const std::string& of) { return "a batch of " + of + " at this length"; };
  const auto tokens = [](const std::string& of) { return "sequences of " + of + " at this batch"; };
  const std::string least_batch = batch("one"), least_tokens = tokens("one token");
  const Json &most_batch = d["largest_batch"], &most_tokens = d["largest_seq_len"];
  const auto end = [](bool all) { return all ? " (more cannot be asked for)" : ""; };
  const std::string batch_end = end(most_batch == d["most_batch"]);
  const std::string tokens_end = end(most_tokens == d["most_seq_len"]);
  if (most_batch.is_null() && most_tokens.is_null())
    return "room neither for " + least_batch + " nor for " + least_tokens;
  if (most_batch.is_null())
    return "room for " + tokens(counted(most_tokens.get<std::int64_t>(), "token")) + tokens_end +
           ", but not for " + least_batch;
  const std::string room =
      "room for " + batch(std::to_string(most_batch.get<std::int64_t>())) + batch_end;
  if (most_tokens.is_null()) return room + ", but not for " + least_tokens;
  return room + ", or for " + tokens(counted(most_tokens.get<std::int64_t>(), "token")) +
         tokens_end;
}

std::string text_of(const Json& d) {
  const bool training = d["training"].get<bool>();
  std::string text =
      fmt::format("{} on {}: {}, {}, S {} x B {}{}\n", d["model"].get<std::string>(),
                  d["device"]["id"].get<std::string>(),
                  training ? "a training step" : "a forward pass", d["dtype"].get<std::string>(),
                  d["seq_len"].get<std::int64_t>(), d["batch"].get<std::int64_t>(),
                  training ? ", checkpointed layers: " + d["checkpoint"].get<std::string>() : "");
  for (const auto& [name, bytes] : d["parts"].items())
    if (bytes != 0) text += fmt::format("  {:<12}{}\n", name, gigabytes(bytes));
  text += fmt::format("  {:<12}{}\n", "peak", gigabytes(d["peak_bytes"]));
  if (!d.contains("limit_bytes")) return text;
  return text + fmt::format("  {} {}; {}\n", d["fits"].get<bool>() ? "fits" : "DOES NOT FIT",
                            limit_text(d["limit_bytes"].get<std::int64_t>()), room_text(d));
}

ExitCode memory(const Settings& settings, const MemoryPlanOptions& o) {
  std::optional<std::int64_t> limit;
  if (o.limit) limit = parse_bytes(*o.limit, "--limit");
  const Predictor predictor(settings, o.run);
  const Json document = document_of(predictor, limit);
  settings.json ? print_json(document) : print_fitted(text_of(document));
  return !limit || document["fits"].get<bool>() ? ExitCode::good : ExitCode::found;
}

}  // namespace

void add_memory(Program& program) {
  auto o = std::make_shared<MemoryPlanOptions>();
  CLI::App* sub = program.add(
      "memory", "What a forward pass or a training step will hold in memory, and what fits",
      "  nsatune memory --preset 125m --seq-len 2048 --batch 8 --train --device cuda:0\n"
      "  nsatune memory --preset 125m --seq-len 2048 --train --checkpoint 4-8 --limit 80GiB\n"
      "  nsatune memory --config model.yaml --json\n"
      "Exit codes: 0; 1 it does not fit --limit; 2 bad input",
      [&program, o] { return memory(program.settings, *o); });
  declare_model(*sub, o->run);
  declare_train(*sub, o->run.train, false);
  sub->add_option(
      "--limit", o->limit,
      "Whether it fits this much memory, such as 80GiB, and the largest batch and length that fit");
}

}  // namespace nsa::cli
