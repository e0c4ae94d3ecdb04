// Kernels of a training step that are no products. Weights' gradients are fp32; the other tensors
// are of one storage type, with contiguous rows. All enqueue on the stream.
#pragma once

#include "training/ops.hpp"

namespace nsa::training::cuda {

void add_norm(const TensorView& x, const TensorView& delta, const TensorView& weight,
              const TensorView& sum, const TensorView& y, CUstream_st* stream);

/// Rows that one sum of the weight's gradient is over.
inline constexpr std::int64_t kRowsPerSum = 128;
/// `inverse` [rows], `sums` [ceil(rows / kRowsPerSum), dim]: fp32, of the workspace.
void rms_norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                       const Gradient& d_x, const Gradient& d_weight, float* inverse, float* sums,
                       CUstream_st* stream);

void silu(const TensorView& h, const TensorView& y, CUstream_st* stream);
void silu_backward(const TensorView& h, const TensorView& y, const TensorView& d,
                   CUstream_st* stream);

void embed_backward(const TensorView& tokens, const TensorView& d_y, const Gradient& d_table,
                    CUstream_st* stream);

/// logits [rows, vocab] fp32 -> d_logits of the storage type, and the loss of each row.
void cross_entropy(const TensorView& logits, const TensorView& targets, double scale,
                   const TensorView& d_logits, float* losses, CUstream_st* stream);
/// scalars->loss += scale * sum of losses, in their order.
void add_losses(const float* losses, std::int64_t count, double scale, StepScalars* scalars,
                CUstream_st* stream);

/// Sums of squares that clipping is made from.
inline constexpr int kNormSums = 1024;
void clip(const TensorView& gradients, double max_norm, double* sums, StepScalars* scalars,
          CUstream_st* stream);
void adamw(const OptimizerTensors& tensors, const AdamW& options, const StepScalars* scalars,
           CUstream_st* stream);
void begin_step(const StepInputs* inputs, StepScalars* scalars, CUstream_st* stream);
void end_step(const StepScalars* scalars, StepResult* history, std::int64_t count,
              CUstream_st* stream);

}  // namespace nsa::training::cuda
