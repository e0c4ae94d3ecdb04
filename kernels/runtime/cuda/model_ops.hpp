// Kernels of what a model needs around its attention.
#pragma once

#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// As the operations of RuntimeOps, on tensors of the current device. `delta` may be absent.
void add_norm(const TensorView& x, const TensorView& delta, const TensorView& weight,
              const TensorView& y, CUstream_st* stream);
void silu(const TensorView& x, CUstream_st* stream);
void embed(const TensorView& tokens, const TensorView& table, const TensorView& y,
           CUstream_st* stream);
/// to[n] = sequences, which travel as parameters of a kernel: no copy from the host, so a graph
/// holds them by value.
void write_sequences(std::span<const Sequence> sequences, Sequence* to, CUstream_st* stream);

}  // namespace nsa::cuda
