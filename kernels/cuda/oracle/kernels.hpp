// The device oracle's kernels: expected rows in fp64, and their comparison with what was produced.
#pragma once

#include <cstdint>

#include "cuda/flash/attend_params.hpp"
#include "nsa/kernels/tensor.hpp"
#include "nsa/schemas/problem.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Rows [first, first + count) of the output of attend_selected: expected[count, q_heads * dv].
void expect_attend_selected(const AttendParams& p, Dtype dtype, std::int64_t first,
                            std::int64_t count, double* expected, CUstream_st* stream);

/// Rows of the output of ranges from blocks [tokens, kv_heads, n]: expected[count, kv_heads * n *
/// 2].
void expect_ranges(const Problem& problem, const TensorView& blocks, const Sequence* sequences,
                   std::int64_t first, std::int64_t count, double* expected, CUstream_st* stream);

/// What is wrong with one row.
struct RowCheck {
  double error;  // relative L2; for integers the share of elements that differ
  std::int64_t poisoned, non_finite;
};
/// checks[count] of rows [first, first + count) of a tensor whose trailing dimensions hold
/// `elements` numbers. `tolerance` is row_tolerance's: the poison of
/// a short type may also be the right answer.
void compare_rows(const TensorView& produced, std::int64_t first, std::int64_t count,
                  std::int64_t elements, const double* expected, double tolerance, RowCheck* checks,
                  CUstream_st* stream);

}  // namespace nsa::cuda
