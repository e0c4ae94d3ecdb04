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

/// Pooled rows of all sequences, rounded to their type as a stage stores them: `pooled`
/// [compressed_tokens, kv_heads, d] from `raw` [context_tokens, kv_heads, d].
void pool_rows(const Problem& problem, const TensorView& raw, const Sequence* sequences,
               const TensorView& pooled, CUstream_st* stream);

/// Weights of the three branches, gates[tokens, kv_heads, 3], with the options that launches have
/// by default.
void expect_gates(const Problem& problem, const TensorView& q, const GateWeights& weights,
                  double* gates, CUstream_st* stream);

/// The most compressed keys of a sequence for which expect_scores has room in shared memory.
inline constexpr std::int64_t kMostScoredKeys = 24 * 1024;
/// Scores of selection blocks of the tokens [first, first + count): scores[count, kv_heads,
/// blocks], zeros for blocks that no compressed key touches. `p`: of compressed attention.
void expect_scores(const AttendParams& p, Dtype dtype, std::int64_t first, std::int64_t count,
                   std::int64_t blocks, double* scores, CUstream_st* stream);

/// What a launch of attention reads, by branch. sel.blocks: what it says that it selected.
struct BranchParams {
  AttendParams cmp, sel, win;
  const double* gates;  // expect_gates'
};
/// The output of attention over those blocks, for `count` tokens first + rows[i]:
/// expected[rows[i], q_heads * dv]. `rows` is on the device.
void expect_attention(const BranchParams& p, Dtype dtype, std::int64_t first,
                      const std::int32_t* rows, std::int64_t count, double* expected,
                      CUstream_st* stream);

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
