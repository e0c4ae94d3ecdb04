// Training of the bundled model: a step is forward, loss, backward, clipping and AdamW, on the back
// end of the context's router. docs/training.md says how it is used.
//
// Lengths are in tokens, memory in bytes. Free functions may be called by several threads; a
// Trainer, a StepObserver and the context's workspace belong to one thread at a time. Tensors are
// made by the trainer: flat, contiguous, parameters one after another. Errors are those of the
// runtime (runtime.hpp): InputError where no row runs a stage, OutOfMemory, CudaError.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/runtime.hpp"

namespace nsa::training {

/// How the learning rate goes on after its warm-up: stays, or falls to 0 at total_steps.
enum class RateSchedule : std::uint8_t { constant, linear, cosine };
/// "constant", "linear", "cosine".
std::string_view to_string(RateSchedule schedule) noexcept;
/// The reverse; nothing for any other word.
std::optional<RateSchedule> schedule_from_string(std::string_view name) noexcept;

struct LearningRate {
  double peak = 2e-4;
  std::int64_t warmup_steps = 0;  // linear, from peak / warmup_steps
  std::int64_t total_steps = 0;   // where linear and cosine reach 0
  RateSchedule schedule = RateSchedule::constant;
};
/// The learning rate of the step with that number, from 0.
double rate_of(const LearningRate& rate, std::int64_t step) noexcept;

/// PyTorch's defaults, but for weight decay (0 as nsa-vibe has it).
struct AdamW {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  double max_norm = 1;  // of all gradients; 0 = no clipping
};

/// Layers whose activations are computed again in the backward pass, both ends included.
struct Checkpointed {
  std::int64_t first = 0, last = -1;  // none
  /// Whether that layer, from 0, is one of them.
  bool holds(std::int64_t layer) const noexcept { return layer >= first && layer <= last; }
};

struct TrainingConfig {
  ModelConfig model;
  std::int64_t seq_len = 2048, batch = 1;
  std::int64_t accumulate = 1;  // batches that one step adds up
  Checkpointed checkpoint;
  /// fp32 masters of weights that are bf16 or fp16, which the optimizer moves; without them it
  /// moves and rounds the weights themselves.
  bool masters = true;
  /// Only rows that give the same bits each time.
  bool deterministic = true;
  AdamW optimizer;
  LearningRate rate;

  /// New tokens of one forward pass.
  std::int64_t tokens_per_batch() const noexcept { return batch * seq_len; }
  /// New tokens of all batches of a step.
  std::int64_t tokens_per_step() const noexcept { return accumulate * tokens_per_batch(); }
};

/// What the host gives a step.
struct StepInputs {
  double rate = 0;
  double correction1 = 1, correction2 = 1;  // 1 - beta^t of both moments
  std::int64_t step = 0;                    // from 0
};
/// Numbers of a step, where its tensors are.
struct StepScalars {
  StepInputs inputs;
  double loss = 0, grad_norm = 0, clip = 1;
  std::int64_t bad_step = 0;  // 1 + the first step whose loss or norm was not finite; 0 = none
};
/// What is kept of a step.
struct StepResult {
  double loss = 0, grad_norm = 0;
};

/// All parameters as flat tensors of equal length.
struct OptimizerTensors {
  TensorView weights;    // the model's dtype
  TensorView gradients;  // fp32 (fp64)
  TensorView moment1, moment2;
  // What moves: the masters of fp16 weights (fp32), else what weights and low halves make together
  // (training/masters.hpp; of bf16 weights), else the weights themselves.
  TensorView masters{};
  std::int16_t* low_halves = nullptr;
};

/// What a part of a step is for. recompute: the forward pass of a checkpointed layer once more,
/// within the backward pass.
enum class StepPhase : std::uint8_t { forward, recompute, backward, optimizer };
/// "forward", "recompute", "backward", "optimizer".
std::string_view to_string(StepPhase phase) noexcept;

/// Sees what a step launches, in order, from the launching thread. Null object by default.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// A stage of NSA, or embed, norm, mlp, head, clip, adamw. Not nested.
  virtual void begin(StepPhase, std::string_view part, CUstream_st*) { (void)part; }
  /// After the last launch of what begin() announced.
  virtual void end(CUstream_st*) {}
  /// A tensor that a forward or backward pass has just written: "layers.3.q", "layers.3.d_q".
  virtual void tensor(StepPhase, std::string_view name, const TensorView&) { (void)name; }
  /// Whether tensor() is to be called.
  virtual bool wants_tensors() const { return false; }
};

/// Bytes that training holds, by what they are for.
struct TrainingMemory {
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // optimizer: moments and masters
  std::int64_t activations = 0;  // kept from the forward pass to the backward pass
  std::int64_t workspace = 0;    // what is on top of them at the peak
  std::int64_t inputs = 0;       // tokens, targets, numbers of steps
  /// The sum: what training holds at its peak.
  std::int64_t peak() const noexcept {
    return weights + gradients + optimizer + activations + workspace + inputs;
  }
};
/// What the step of `config` takes with the rows that the router chooses: the step itself, run
/// without memory and without work.
TrainingMemory predict_memory(const Router& router, const TrainingConfig& config,
                              const AttentionOptions& options = {});

/// The model in training: its state, what a step keeps between its passes, and an arena of scratch.
class Trainer {
 public:
  /// Weights from the seed. Memory is the allocator's, which outlives the trainer, as does what the
  /// context points to; a step gets what predict_memory() says. Throws InputError where a row that
  /// the step needs is missing.
  Trainer(const Context& context, const TrainingConfig& config, Allocator& allocator,
          std::uint64_t seed);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// As it was given.
  const TrainingConfig& config() const noexcept;
  /// Enqueues the next step over `tokens` [accumulate, batch, seq_len + 1], on the host, each below
  /// vocab_size: each token but the last of a sequence predicts the one after it. Returns at once
  /// on a GPU; the tokens may be reused then. ContractError where there are not as many of them.
  void step(std::span<const std::int32_t> tokens, StepObserver* observer = nullptr);
  /// Forward and backward of the same tokens with the weights as they are, once more; no optimizer.
  void replay(std::span<const std::int32_t> tokens, StepObserver* observer);
  /// Runs `launch`, which enqueues a step, under the capture of a CUDA graph, and returns what
  /// replays that graph on the same stream.
  using Capture = std::function<std::function<void()>(const std::function<void()>& launch)>;
  /// Captures a step as a graph; all steps that follow are replays of it, without observers. The
  /// host enqueues tokens and numbers of a step and nothing else.
  void use_graph(const Capture& capture);

  /// Counts what runs backward apart from the context's telemetry; null: nobody does.
  void count_backward(Telemetry* telemetry);

  /// Steps before the next one: those of set_state() and those that were enqueued since.
  std::int64_t steps_done() const noexcept;
  /// Results of the last steps, the newest last; waits for the device. At most kHistory.
  std::vector<StepResult> results(std::int64_t count) const;
  /// The first step with a loss or gradients that were not finite, from 0. Weights have not moved
  /// since the step before it. Waits for the device.
  std::optional<std::int64_t> bad_step() const;
  static constexpr std::int64_t kHistory = 4096;

  /// A part of the state by name, for checkpoints: flat, [parameters], in host memory.
  struct StatePart {
    std::string name;
    Dtype dtype = Dtype::fp32;
    std::vector<std::byte> bytes;
  };
  /// "weights", "moment1", "moment2", "masters" where there are any; waits for the device.
  std::vector<StatePart> state() const;
  /// Names and dtypes of the same, without bytes.
  std::vector<StatePart> state_parts() const;
  /// One of them by its name; waits for the device. ContractError where there is none.
  StatePart state_part(const std::string& name) const;
  /// Sets one of them; waits for the device. ContractError where it has other bytes.
  void set_state_part(const StatePart& part);
  /// Goes on after that many steps.
  void set_steps(std::int64_t steps) noexcept;
  /// Sets all parts that state() has, and goes on after `steps` steps; waits for the device. Where
  /// there are masters, weights of bf16 are rounded from them. ContractError where it has others.
  void set_state(std::span<const StatePart> state, std::int64_t steps);
  /// A tensor by name: where it lies on the device.
  struct NamedTensor {
    std::string name;
    TensorView view;
  };
  /// Names of the model's parameters and their places in the flat tensors.
  std::vector<NamedTensor> parameters() const;
  /// Views of the flat gradients, by parameter; the next forward pass may write over them.
  std::vector<NamedTensor> gradients() const;
  /// Bytes of such a tensor; waits for the device.
  std::vector<std::byte> read(const TensorView& tensor) const;
  /// Sets it; waits for the device. ContractError where the bytes are not as many as its own.
  void write(const TensorView& tensor, std::span<const std::byte> bytes);

  /// What is held now; activations and workspace as the arena measured its peak.
  TrainingMemory memory() const;
  /// What a step has beside the state, in bytes.
  std::int64_t reserved_bytes() const noexcept;
  /// How often its scratch had to grow beyond what predict_memory() says.
  std::int64_t grow_events() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nsa::training
