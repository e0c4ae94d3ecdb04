#include "training/cpu/ops.hpp"

#include <cstring>

#include "runtime/linear.hpp"
#include "runtime/model_ops.hpp"

namespace nsa::training {
namespace {

class CpuTrainingOps final : public TrainingOps {
 public:
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    nsa::linear(x, w, y, *context.workspace);
  }
  void linear_backward(const Context& context, const TensorView& x, const TensorView& w,
                       const TensorView& d_y, const Gradient& d_x,
                       const Gradient& d_w) const override {
    cpu::linear_backward(x, w, d_y, d_x, d_w, *context.workspace);
  }
  void rms_norm(const Context&, const TensorView& x, const TensorView& weight,
                const TensorView& y) const override {
    nsa::rms_norm(x, weight, y);
  }
  void add_norm(const Context&, const TensorView& x, const TensorView& delta,
                const TensorView& weight, const TensorView& sum,
                const TensorView& y) const override {
    cpu::add(x, delta, sum);
    if (y) nsa::rms_norm(sum, weight, y);
  }
  void rms_norm_backward(const Context& context, const TensorView& x, const TensorView& weight,
                         const TensorView& d_y, const Gradient& d_x,
                         const Gradient& d_weight) const override {
    cpu::rms_norm_backward(x, weight, d_y, d_x, d_weight, *context.workspace);
  }
  void silu(const Context&, const TensorView& h, const TensorView& y) const override {
    cpu::silu(h, y);
  }
  void silu_backward(const Context&, const TensorView& h, const TensorView& y,
                     const TensorView& d) const override {
    cpu::silu_backward(h, y, d);
  }
  void embed(const Context&, const TensorView& tokens, const TensorView& table,
             const TensorView& y) const override {
    nsa::embed(tokens, table, y);
  }
  void embed_backward(const Context& context, const TensorView& tokens, const TensorView& d_y,
                      const Gradient& d_table) const override {
    cpu::embed_backward(tokens, d_y, d_table, *context.workspace);
  }
  void head_loss(const Context& context, const HeadLoss& head,
                 StepScalars* scalars) const override {
    cpu::head_loss(head, *scalars, *context.workspace);
  }
  void clip(const Context& context, const TensorView& gradients, double max_norm,
            StepScalars* scalars) const override {
    cpu::clip(gradients, max_norm, *scalars, *context.workspace);
  }
  void adamw(const Context&, const OptimizerTensors& tensors, const AdamW& options,
             StepScalars* scalars) const override {
    cpu::adamw(tensors, options, *scalars);
  }
  void begin_step(const Context&, const StepInputs* inputs, StepScalars* scalars) const override {
    scalars->inputs = *inputs;
    scalars->loss = 0;
  }
  void end_step(const Context&, StepScalars* scalars, StepResult* history,
                std::int64_t count) const override {
    history[scalars->inputs.step % count] = {scalars->loss, scalars->grad_norm};
  }
  void zero(const Context&, const TensorView& x) const override {
    if (x.elements() > 0) std::memset(x.data, 0, x.bytes());
  }
};

}  // namespace

const TrainingOps& cpu_training_ops() noexcept {
  static const CpuTrainingOps ops;
  return ops;
}

std::int64_t head_rows_at_once(std::int64_t rows, std::int64_t vocab) noexcept {
  constexpr std::int64_t kLogitBytes = std::int64_t{32} << 20, kLeast = 64;
  const std::int64_t fitting = kLogitBytes / (4 * std::max<std::int64_t>(vocab, 1));
  return std::min(rows, std::max(fitting, kLeast));
}

}  // namespace nsa::training
