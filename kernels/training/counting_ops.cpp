// What the operations of a step take of the workspace, without their work: the memory model runs a
// step with these. Each mirrors its operation; a test compares them with what those really take.
#include "training/ops.hpp"

#include "cuda/gemm/gemm.hpp"
#include "nsa/kernels/catalog.hpp"

namespace nsa::training {
namespace {

bool is_half(const TensorView& x) { return x.dtype == Dtype::bf16 || x.dtype == Dtype::fp16; }
std::size_t wide(Dtype dtype) { return dtype == Dtype::fp64 ? 8 : 4; }
/// Of a gradient that is neither of the type that is computed in nor overwritten.
bool passes_by(const Gradient& g, Dtype computed) {
  return g.add || size_of(g.to.dtype) != wide(computed);
}

class CountingBase : public TrainingOps {
 public:
  void rms_norm(const Context&, const TensorView&, const TensorView&,
                const TensorView&) const override {}
  void add_norm(const Context&, const TensorView&, const TensorView&, const TensorView&,
                const TensorView&, const TensorView&) const override {}
  void silu(const Context&, const TensorView&, const TensorView&) const override {}
  void silu_backward(const Context&, const TensorView&, const TensorView&,
                     const TensorView&) const override {}
  void embed(const Context&, const TensorView&, const TensorView&,
             const TensorView&) const override {}
  void adamw(const Context&, const OptimizerTensors&, const AdamW&, StepScalars*) const override {}
  void begin_step(const Context&, const StepInputs*, StepScalars*) const override {}
  void end_step(const Context&, StepScalars*, StepResult*, std::int64_t) const override {}
  void zero(const Context&, const TensorView&) const override {}

 protected:
  static void take(const Context& context, std::int64_t elements, std::size_t bytes) {
    context.workspace->take(static_cast<std::size_t>(elements) * bytes);
  }
};

class CountingCpuOps final : public CountingBase {
 public:
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    const WorkspaceScope scope(*context.workspace);
    for (const TensorView* t : {&x, &w, &y}) convert(context, *t);
  }
  void linear_backward(const Context& context, const TensorView& x, const TensorView& w,
                       const TensorView& d_y, const Gradient& d_x,
                       const Gradient& d_w) const override {
    const WorkspaceScope scope(*context.workspace);
    convert(context, d_y);
    if (d_x.to) {
      const WorkspaceScope product(*context.workspace);
      convert(context, w);
      if (passes_by(d_x, x.dtype)) take(context, d_x.to.elements(), wide(x.dtype));
    }
    if (!d_w.to) return;
    convert(context, x);
    if (passes_by(d_w, x.dtype)) take(context, d_w.to.elements(), wide(x.dtype));
  }
  void rms_norm_backward(const Context& context, const TensorView& x, const TensorView&,
                         const TensorView&, const Gradient&, const Gradient&) const override {
    const WorkspaceScope scope(*context.workspace);
    take(context, (x.shape[0] + 63) / 64 * x.shape[1], wide(x.dtype));
  }
  void embed_backward(const Context& context, const TensorView& tokens, const TensorView&,
                      const Gradient& d_table) const override {
    const WorkspaceScope scope(*context.workspace);
    take(context, d_table.to.shape[0] + 1, sizeof(std::int64_t));
    take(context, tokens.shape[0], sizeof(std::int64_t));
    take(context, d_table.to.shape[0], sizeof(std::int64_t));
  }
  void head_loss(const Context& context, const HeadLoss& head, StepScalars*) const override {
    const WorkspaceScope scope(*context.workspace);
    const std::int64_t rows = head.x.shape[0], vocab = head.weight.shape[0];
    const std::int64_t part = head_rows_at_once(rows, vocab);
    const std::size_t bytes = wide(head.x.dtype);
    convert(context, head.weight);
    take(context, rows, sizeof(double));
    const bool sums = head.d_weight.to && size_of(head.d_weight.to.dtype) != bytes;
    if (sums) take(context, head.weight.elements(), bytes);
    take(context, part * vocab, bytes);
    if (is_half(head.x)) take(context, part * head.x.shape[1], bytes);
    {
      const WorkspaceScope product(*context.workspace);
      if (head.d_x.to && passes_by(head.d_x, head.x.dtype))
        take(context, part * head.x.shape[1], bytes);
    }
    const bool added = head.d_weight.to && (part < rows || (!sums && head.d_weight.add));
    if (added) take(context, head.weight.elements(), bytes);
  }
  void clip(const Context& context, const TensorView& gradients, double,
            StepScalars*) const override {
    const WorkspaceScope scope(*context.workspace);
    take(context, (gradients.shape[0] + 65535) / 65536, sizeof(double));
  }

 private:
  static void convert(const Context& context, const TensorView& x) {
    if (is_half(x)) take(context, x.elements(), sizeof(float));
  }
};

/// As training/cuda/ops.cpp takes it; a product takes this at most.
class CountingCudaOps final : public CountingBase {
 public:
  void linear(const Context& context, const TensorView&, const TensorView&,
              const TensorView&) const override {
    product(context);
  }
  void linear_backward(const Context& context, const TensorView&, const TensorView&,
                       const TensorView&, const Gradient&, const Gradient&) const override {
    product(context);
  }
  void rms_norm_backward(const Context& context, const TensorView& x, const TensorView&,
                         const TensorView&, const Gradient&, const Gradient&) const override {
    const WorkspaceScope scope(*context.workspace);
    take(context, x.shape[0], sizeof(float));
    take(context, (x.shape[0] + 127) / 128 * x.shape[1], sizeof(float));
  }
  void embed_backward(const Context&, const TensorView&, const TensorView&,
                      const Gradient&) const override {}
  void head_loss(const Context& context, const HeadLoss& head, StepScalars*) const override {
    const WorkspaceScope scope(*context.workspace);
    const std::int64_t vocab = head.weight.shape[0];
    const std::int64_t part = head_rows_at_once(head.x.shape[0], vocab);
    take(context, head.x.shape[0], sizeof(float));
    take(context, part * vocab, sizeof(float));
    take(context, part * vocab, size_of(head.x.dtype));
    product(context);
  }
  void clip(const Context& context, const TensorView&, double, StepScalars*) const override {
    const WorkspaceScope scope(*context.workspace);
    take(context, 1024, sizeof(double));
  }

 private:
  static void product(const Context& context) {
    const WorkspaceScope scope(*context.workspace);
    take(context, cuda::kGemmWorkspaceBytes, 1);
  }
};

}  // namespace

const TrainingOps& counting_ops(Backend backend) noexcept {
  static const CountingCpuOps on_cpu;
  static const CountingCudaOps on_gpu;
  if (backend == Backend::cuda) return on_gpu;
  return on_cpu;
}

}  // namespace nsa::training
