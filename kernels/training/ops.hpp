// What a training step does between and after the stages, on the back end that they run on: the
// backward passes of norms, MLP, embedding and head, the loss, and the optimizer. As RuntimeOps:
// operations in the order of the context's stream, nothing waits, tensors are where the context's
// workspace allocates. fp32 arithmetic, fp64 where storage is fp64 (CPU only).
//
// `d_x` is the gradient of the loss with respect to x, in the shape of x. A gradient is rounded
// once to its own dtype, which may be wider than that of its tensor. Where `add` is true it is
// added to what is there, else it overwrites. Results do not depend on the number of threads, nor
// on the order in which blocks of a GPU run.
#pragma once

#include "nsa/kernels/runtime.hpp"
#include "nsa/kernels/training.hpp"

namespace nsa::training {

/// A gradient and how it is written; an absent tensor is not computed.
struct Gradient {
  TensorView to;
  bool add = false;
};

/// The loss of some rows: the sum over them of `scale` x -log softmax(x W^T)[target].
struct HeadLoss {
  TensorView x;        // [rows, dim]
  TensorView weight;   // [vocab, dim]
  TensorView targets;  // [rows] int32; -1 = a row without a loss
  double scale = 1;
  Gradient d_x, d_weight;
};

class TrainingOps {
 public:
  virtual ~TrainingOps() = default;
  /// y = x W^T: x [rows, in], w [out, in], y [rows, out].
  virtual void linear(const Context&, const TensorView& x, const TensorView& w,
                      const TensorView& y) const = 0;
  /// Of y = x W^T: d_x [rows, in], d_w [out, in].
  virtual void linear_backward(const Context&, const TensorView& x, const TensorView& w,
                               const TensorView& d_y, const Gradient& d_x,
                               const Gradient& d_w) const = 0;
  /// y = x / sqrt(mean(x^2) + 1e-6) * weight, per row. x, y [rows, dim], weight [dim].
  virtual void rms_norm(const Context&, const TensorView& x, const TensorView& weight,
                        const TensorView& y) const = 0;
  /// sum = x + delta; with `y`, also y = rms_norm(sum). All [rows, dim]. `sum` may be x.
  virtual void add_norm(const Context&, const TensorView& x, const TensorView& delta,
                        const TensorView& weight, const TensorView& sum,
                        const TensorView& y) const = 0;
  /// Of rms_norm: d_x [rows, dim], d_weight [dim].
  virtual void rms_norm_backward(const Context&, const TensorView& x, const TensorView& weight,
                                 const TensorView& d_y, const Gradient& d_x,
                                 const Gradient& d_weight) const = 0;
  /// y = h * sigmoid(h), both [rows, columns].
  virtual void silu(const Context&, const TensorView& h, const TensorView& y) const = 0;
  /// y = h * sigmoid(h) once more, which the weights after it need, and d = d * silu'(h), in
  /// place.
  virtual void silu_backward(const Context&, const TensorView& h, const TensorView& y,
                             const TensorView& d) const = 0;
  /// y[row] = table[tokens[row]], as RuntimeOps::embed.
  virtual void embed(const Context&, const TensorView& tokens, const TensorView& table,
                     const TensorView& y) const = 0;
  /// Of embed: d_table [vocab, dim] from d_y [rows, dim]; a token's rows are added up in their
  /// order. Rows of tokens outside of the vocabulary are left out.
  virtual void embed_backward(const Context&, const TensorView& tokens, const TensorView& d_y,
                              const Gradient& d_table) const = 0;
  /// Adds the loss to `scalars->loss` and writes the gradients. Logits of a part of the rows exist
  /// at a time (head_rows_at_once), never all of [rows, vocab].
  virtual void head_loss(const Context&, const HeadLoss& head, StepScalars* scalars) const = 0;
  /// scalars->grad_norm = sqrt(sum of squares) over all gradients; scalars->clip = what gradients
  /// are multiplied with, so that their norm is `max_norm` at most (0 = any). Where the loss or the
  /// norm is not finite, scalars->bad_step = `scalars->step` + 1 unless an earlier step was bad.
  virtual void clip(const Context&, const TensorView& gradients, double max_norm,
                    StepScalars* scalars) const = 0;
  /// One AdamW step over all parameters at once (Loshchilov and Hutter 2019, algorithm 2, as
  /// PyTorch has it), by scalars->rate, ->clip and ->corrections. Nothing moves from a bad step on.
  virtual void adamw(const Context&, const OptimizerTensors& tensors, const AdamW& options,
                     StepScalars* scalars) const = 0;
  /// scalars->inputs = *inputs, which lie where the scalars do; scalars->loss = 0.
  virtual void begin_step(const Context&, const StepInputs* inputs, StepScalars* scalars) const = 0;
  /// history[step % count] = loss and norm of the step.
  virtual void end_step(const Context&, StepScalars* scalars, StepResult* history,
                        std::int64_t count) const = 0;
  /// Every byte becomes zero.
  virtual void zero(const Context&, const TensorView& x) const = 0;
};

const TrainingOps& cpu_training_ops() noexcept;
const TrainingOps& cuda_training_ops();  // EnvironmentError in a build without CUDA
/// Takes the workspace that the operations of `backend` take, and does nothing else.
const TrainingOps& counting_ops(Backend backend) noexcept;

/// Rows whose logits exist at the same time: as many as fit kLogitBytes in fp32, 64 or more.
std::int64_t head_rows_at_once(std::int64_t rows, std::int64_t vocab) noexcept;

}  // namespace nsa::training
