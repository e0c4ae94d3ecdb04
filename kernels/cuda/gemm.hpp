// Matrix products on a CUDA device by cuBLASLt, which is opened at run time: a program that has it
// not still starts, and the rows that need it say so.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/kernels/tensor.hpp"
#include "nsa/kernels/workspace.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Why there are no matrix products here; empty where there are. Opens the library once.
const std::string& gemm_missing();

/// Workspace that a product takes for its time.
inline constexpr std::int64_t kGemmWorkspaceBytes = std::int64_t{32} << 20;

/// y = x W^T on the current device: x [rows, in], w [out, in] of one dtype (fp32, bf16, fp16), y
/// [rows, out] of that dtype or fp32. Rows are contiguous, dimension 0 may have any stride.
/// Accumulates in fp32 and rounds once. EnvironmentError where gemm_missing() gives a reason.
void gemm(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace,
          CUstream_st* stream);

/// The tensor with all trailing dimensions as one, [rows, elements of a row]; they lie behind one
/// another.
TensorView as_matrix(const TensorView& tensor);

}  // namespace nsa::cuda
