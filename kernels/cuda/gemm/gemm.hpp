// Matrix products on a CUDA device by cuBLASLt, which is opened at run time: where it is missing,
// the program still starts, and the rows that need it say so.
#pragma once

#include <compare>
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

/// How w of a product lies in memory.
enum class WLayout : std::uint8_t { out_in, in_out };

/// How x of a product lies in memory.
enum class XLayout : std::uint8_t { rows_in, in_rows };

/// How many algorithms of cuBLASLt's list for a product can be asked for by rank.
inline constexpr int kGemmAlgorithms = 8;

struct GemmOptions {
  /// Rank in cuBLASLt's list of algorithms, 0 = its first choice; the last where it has fewer.
  int algorithm = 0;
  /// fp32 operands are rounded to TF32 (10 bits after the binary point) for the tensor cores.
  bool tf32 = false;
  WLayout w = WLayout::out_in;
  XLayout x = XLayout::rows_in;
  bool accumulate = false;  // the product is added to y
  auto operator<=>(const GemmOptions&) const = default;
};

/// y = x w^T on the current device: x [rows, in], w [out, in] of one dtype (fp32, bf16, fp16), y
/// [rows, out] of that dtype or fp32; x [in, rows] and w [in, out] where the options say so. Rows
/// are contiguous, dimension 0 may have any stride.
/// Accumulates in fp32 and rounds once. EnvironmentError where gemm_missing() gives a reason.
void gemm(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace,
          CUstream_st* stream, const GemmOptions& options = {});

/// The same for matrices [batch, rows, columns], times `factor`. A stride of 0 in dimension 0
/// repeats a matrix.
void gemm_batched(const TensorView& x, const TensorView& w, const TensorView& y, float factor,
                  Workspace& workspace, CUstream_st* stream, const GemmOptions& options = {});

/// The tensor with all trailing dimensions as one, [rows, elements of a row]; they lie after one
/// another.
TensorView as_matrix(const TensorView& tensor);

}  // namespace nsa::cuda
