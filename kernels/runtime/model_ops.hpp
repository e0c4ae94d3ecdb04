// What a model needs around its attention. Row by row, in any storage type; fp32 arithmetic, fp64
// where storage is fp64.
#pragma once

#include "nsa/kernels/tensor.hpp"
#include "nsa/kernels/workspace.hpp"

namespace nsa {

/// y = x / sqrt(mean(x^2) + 1e-6) * weight, per row. x, y [rows, dim], weight [dim].
void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& y);
/// x += delta, both [rows, dim].
void add_rows(const TensorView& x, const TensorView& delta);
/// x = x * sigmoid(x), [rows, dim].
void silu_rows(const TensorView& x);
/// y[row] = table[tokens[row]]: tokens [rows] int32, table [vocab, dim]. InputError on a token
/// outside of the vocabulary.
void embed(const TensorView& tokens, const TensorView& table, const TensorView& y);

}  // namespace nsa
