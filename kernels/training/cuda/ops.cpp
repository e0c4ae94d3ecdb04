#include "training/ops.hpp"
#include "cuda/gemm/gemm.hpp"
#include "cuda/gemm/linear_backward.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "runtime/cuda/model_ops.hpp"
#include "runtime/stage.hpp"
#include "training/cuda/kernels.hpp"

namespace nsa::training {
namespace {

class CudaTrainingOps final : public TrainingOps {
 public:
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    nsa::cuda::gemm(x, w, y, *context.workspace, context.stream);
  }
  void linear_backward(const Context& context, const TensorView& x, const TensorView& w,
                       const TensorView& d_y, const Gradient& d_x,
                       const Gradient& d_w) const override {
    nsa::cuda::linear_backward(x, w, d_y, {d_x.to, d_x.add}, {d_w.to, d_w.add}, *context.workspace,
                               context.stream);
  }
  void rms_norm(const Context& context, const TensorView& x, const TensorView& weight,
                const TensorView& y) const override {
    nsa::cuda::add_norm(x, {}, weight, y, context.stream);
  }
  void add_norm(const Context& context, const TensorView& x, const TensorView& delta,
                const TensorView& weight, const TensorView& sum,
                const TensorView& y) const override {
    cuda::add_norm(x, delta, weight, sum, y, context.stream);
  }
  void rms_norm_backward(const Context& context, const TensorView& x, const TensorView& weight,
                         const TensorView& d_y, const Gradient& d_x,
                         const Gradient& d_weight) const override {
    const WorkspaceScope scope(*context.workspace);
    const std::int64_t rows = x.shape[0];
    const std::int64_t pieces = (rows + cuda::kRowsPerSum - 1) / cuda::kRowsPerSum;
    float* inverse = context.workspace->take<float>(rows).data();
    float* sums = context.workspace->take<float>(pieces * x.shape[1]).data();
    cuda::rms_norm_backward(x, weight, d_y, d_x, d_weight, inverse, sums, context.stream);
  }
  void silu(const Context& context, const TensorView& h, const TensorView& y) const override {
    cuda::silu(h, y, context.stream);
  }
  void silu_backward(const Context& context, const TensorView& h, const TensorView& y,
                     const TensorView& d) const override {
    cuda::silu_backward(h, y, d, context.stream);
  }
  void embed(const Context& context, const TensorView& tokens, const TensorView& table,
             const TensorView& y) const override {
    nsa::cuda::embed(tokens, table, y, context.stream);
  }
  void embed_backward(const Context& context, const TensorView& tokens, const TensorView& d_y,
                      const Gradient& d_table) const override {
    cuda::embed_backward(tokens, d_y, d_table, context.stream);
  }
  void head_loss(const Context& context, const HeadLoss& head,
                 StepScalars* scalars) const override {
    const WorkspaceScope scope(*context.workspace);
    const std::int64_t rows = head.x.shape[0], vocab = head.weight.shape[0];
    const std::int64_t most = head_rows_at_once(rows, vocab);
    float* losses = context.workspace->take<float>(rows).data();
    const TensorView logits = take_tensor(*context.workspace, Dtype::fp32, {most, vocab});
    const TensorView d_logits = take_tensor(*context.workspace, head.x.dtype, {most, vocab});
    for (std::int64_t first = 0; first < rows; first += most) {
      const std::int64_t count = std::min(most, rows - first);
      const TensorView x = slice_rows(head.x, first, count), y = slice_rows(logits, 0, count);
      const TensorView d = slice_rows(d_logits, 0, count);
      nsa::cuda::gemm(x, head.weight, y, *context.workspace, context.stream);
      cuda::cross_entropy(y, slice_rows(head.targets, first, count), head.scale, d, losses + first,
                          context.stream);
      const TensorView d_x = head.d_x.to ? slice_rows(head.d_x.to, first, count) : TensorView{};
      nsa::cuda::linear_backward(x, head.weight, d, {d_x, head.d_x.add},
                                 {head.d_weight.to, head.d_weight.add || first > 0},
                                 *context.workspace, context.stream);
    }
    cuda::add_losses(losses, rows, head.scale, scalars, context.stream);
  }
  void clip(const Context& context, const TensorView& gradients, double max_norm,
            StepScalars* scalars) const override {
    const WorkspaceScope scope(*context.workspace);
    double* sums = context.workspace->take<double>(cuda::kNormSums).data();
    cuda::clip(gradients, max_norm, sums, scalars, context.stream);
  }
  void adamw(const Context& context, const OptimizerTensors& tensors, const AdamW& options,
             StepScalars* scalars) const override {
    cuda::adamw(tensors, options, scalars, context.stream);
  }
  void begin_step(const Context& context, const StepInputs* inputs,
                  StepScalars* scalars) const override {
    cuda::begin_step(inputs, scalars, context.stream);
  }
  void end_step(const Context& context, StepScalars* scalars, StepResult* history,
                std::int64_t count) const override {
    cuda::end_step(scalars, history, count, context.stream);
  }
  void zero(const Context& context, const TensorView& x) const override {
    if (x.elements() > 0) device::fill(x.data, std::byte{0}, x.bytes(), context.stream);
  }
};

}  // namespace

const TrainingOps& cuda_training_ops() {
  static const CudaTrainingOps ops;
  return ops;
}

}  // namespace nsa::training
