// The memory model: a step on an arena over addresses that nobody owns. Nothing touches them, since
// the operations and the stages only count what they take.
#include "training/memory.hpp"

#include <algorithm>

#include "nsa/kernels/training_rows.hpp"
#include "nsa/schemas/variant_text.hpp"
#include "training/arenas.hpp"
#include "training/step.hpp"

namespace nsa::training {
namespace {

TensorView flat_view(Allocator& nowhere, Dtype dtype, std::int64_t count) {
  return make_view(nowhere.allocate(static_cast<std::size_t>(count) * size_of(dtype)), dtype,
                   {count});
}

/// Counts, and notes which rows that was of.
class NotingRows final : public StageRunner {
 public:
  explicit NotingRows(std::map<std::string, std::string>& rows) : rows_(rows) {}
  void launch(const Context& context, const StageLaunch& l) const override {
    counting().launch(context, l);
    std::string row(l.choice.variant->name);
    if (!l.choice.point->empty()) row += " (" + point_text(*l.choice.point) + ")";
    std::string& all = rows_[std::string(to_string(l.call.problem.direction)) + " " +
                             std::string(to_string(l.call.stage))];
    if (all.empty()) {
      all = row;
    } else if (all.find(row) == std::string::npos) {
      all += ", " + row;
    }
  }
  void fill(const Context&, const TensorView&, std::byte) const override {}

 private:
  std::map<std::string, std::string>& rows_;
};

/// All batches of a step after its second one take what that does.
StepBytes counted_step(const Router& router, TrainingConfig config, const AttentionOptions& options,
                       const StageRunner& stages) {
  config.accumulate = std::min<std::int64_t>(config.accumulate, 2);
  Nowhere nowhere;
  Workspace arena(nowhere, Nowhere::kEndless), kept(nowhere, Nowhere::kEndless);
  const Problem forward = batch_problem(config, Direction::forward);
  const Choice attention = choose_attention(router, forward);
  const Context context{
      .router = &router, .workspace = &arena, .options = options, .within = &attention};
  const Problem backward = batch_problem(config, Direction::backward);
  const std::vector<Sequence> sequences = sequences_of(forward);
  const PlacedSequences placed{sequences, sequences.data()};
  const std::int64_t count = parameter_count(config.model);
  const Dtype wide = state_dtype(config.model);
  StepState state;
  state.flat = {.weights = flat_view(nowhere, config.model.dtype, count),
                .gradients = flat_view(nowhere, wide, count),
                .moment1 = flat_view(nowhere, wide, count),
                .moment2 = flat_view(nowhere, wide, count)};
  state.weights = bind_weights(config.model, state.flat.weights);
  state.gradients = bind_weights(config.model, state.flat.gradients);
  state.tokens = state.targets = flat_view(nowhere, Dtype::int32, config.tokens_per_step());
  const StepContext step{{.context = context,
                          .forward = forward,
                          .backward = backward,
                          .sequences = placed,
                          .stages = stages,
                          .deterministic = config.deterministic},
                         config,
                         counting_ops(router.inputs().device.backend),
                         kept};
  const KeptBytes bytes = run_step(step, state);
  const std::size_t peak = kept.peak_bytes();
  return {.between = bytes.between,
          .kept_peak = peak,
          .block = gradients_share(config) ? std::max(peak, bytes.with_gradients) : peak,
          .scratch = arena.peak_bytes()};
}

}  // namespace

Dtype state_dtype(const ModelConfig& config) noexcept {
  return config.dtype == Dtype::fp64 ? Dtype::fp64 : Dtype::fp32;
}

bool has_masters(const TrainingConfig& config) noexcept {
  return config.masters && config.model.dtype != state_dtype(config.model);
}

std::size_t master_bytes(Dtype weights) noexcept { return weights == Dtype::bf16 ? 2 : 4; }

bool gradients_share(const TrainingConfig& config) noexcept { return config.accumulate == 1; }

TrainingMemory memory_of(const TrainingConfig& config, const StepBytes& step) noexcept {
  const std::int64_t count = parameter_count(config.model);
  const auto wide = static_cast<std::int64_t>(size_of(state_dtype(config.model)));
  TrainingMemory memory;
  memory.weights = count * static_cast<std::int64_t>(size_of(config.model.dtype));
  memory.gradients = gradients_share(config)
                         ? static_cast<std::int64_t>(step.block - step.kept_peak)
                         : count * wide;
  memory.optimizer = count * 2 * wide;
  if (has_masters(config))
    memory.optimizer += count * static_cast<std::int64_t>(master_bytes(config.model.dtype));
  memory.activations = static_cast<std::int64_t>(step.between);
  memory.workspace = static_cast<std::int64_t>(step.kept_peak - step.between + step.scratch);
  memory.inputs =
      inputs_bytes(config) +
      static_cast<std::int64_t>(sizeof(StepScalars) + Trainer::kHistory * sizeof(StepResult));
  return memory;
}

std::int64_t inputs_bytes(const TrainingConfig& config) noexcept {
  return static_cast<std::int64_t>(sizeof(StepInputs)) +
         2 * config.tokens_per_step() * static_cast<std::int64_t>(sizeof(std::int32_t));
}

StepBytes step_bytes(const Router& router, const TrainingConfig& config,
                     const AttentionOptions& options) {
  return counted_step(router, config, options, counting());
}

TrainingMemory predict_memory(const Router& router, const TrainingConfig& config,
                              const AttentionOptions& options) {
  return memory_of(config, step_bytes(router, config, options));
}

std::map<std::string, std::string> rows_of_step(const Router& router, const TrainingConfig& config,
                                                const AttentionOptions& options) {
  std::map<std::string, std::string> rows;
  counted_step(router, config, options, NotingRows(rows));
  return rows;
}

}  // namespace nsa::training
