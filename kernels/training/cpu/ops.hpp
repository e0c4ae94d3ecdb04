// The operations of a training step on a CPU, one file each; TrainingOps says what they compute.
#pragma once

#include "training/ops.hpp"

namespace nsa::training::cpu {

void linear_backward(const TensorView& x, const TensorView& w, const TensorView& d_y,
                     const Gradient& d_x, const Gradient& d_w, Workspace& workspace);
void add(const TensorView& x, const TensorView& delta, const TensorView& sum);
void rms_norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                       const Gradient& d_x, const Gradient& d_weight, Workspace& workspace);
void silu(const TensorView& h, const TensorView& y);
void silu_backward(const TensorView& h, const TensorView& y, const TensorView& d);
void embed_backward(const TensorView& tokens, const TensorView& d_y, const Gradient& d_table,
                    Workspace& workspace);
void head_loss(const HeadLoss& head, StepScalars& scalars, Workspace& workspace);
void clip(const TensorView& gradients, double max_norm, StepScalars& scalars, Workspace& workspace);
void adamw(const OptimizerTensors& tensors, const AdamW& options, const StepScalars& scalars);

}  // namespace nsa::training::cpu
