// Private parts of the oracle: where a row stands, what it should hold, what else would be right.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"
#include "operands/named.hpp"
#include "reference/reference.hpp"

namespace nsa::reference {

/// A query of a sequence: row q_begin + index, at position t.
struct Query {
  const Sequence* sequence;
  std::int64_t index, token, position;
};
Query find_query(std::span<const Sequence> sequences, std::int64_t token);

/// A row of a stage that is not a composite. Blocks and ranges come as numbers too.
Row stage_row(Stage stage, const Problem& problem, std::span<const Sequence> sequences,
              const NamedTensors& in, const AttentionOptions& options, std::size_t output,
              std::int64_t row);

/// parallel_for over rows, one at a time. A few rows are worked on by the caller one after another,
/// which leaves the threads to the heads of each.
void parallel_rows(std::int64_t rows, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Operands of the composites, however they came about.
struct AttentionOperands {
  TensorView q, k_cmp, v_cmp, k_sel, v_sel, k_win, v_win;
  GateWeights gate;
};
/// Output of one KV group for one query, [heads_per_group * head_dim_v], over a list of blocks.
Row attention_part(const Problem& problem, const AttentionOperands& operands, const Query& query,
                   std::int64_t group, const AttentionOptions& options,
                   const std::vector<std::int32_t>& blocks);
/// Whether a list of blocks is a right answer of the selection: the best ones, or others whose
/// scores tie with those that they replace.
bool is_right_selection(const std::vector<std::int32_t>& blocks, const Row& scores,
                        std::int64_t position, const Problem& problem);
/// Relative difference of two scores below which rounding may swap them.
double tie_tolerance(Dtype dtype) noexcept;

/// Tensors that the stages before the last one leave behind, by name, rounded to the problem's
/// dtype as a stage stores them: k_cmp and v_cmp, and for a layer the seven outputs of
/// project_rope.
std::vector<HostTensor> derive(Stage stage, const Problem& problem,
                               std::span<const TensorView> inputs, const AttentionOptions& options);

/// The one of that name; null where there is none.
const HostTensor* named(std::span<const HostTensor> tensors, std::string_view name) noexcept;

/// Logits of the model [tokens, vocab_size] fp64, by the runtime's built-in rows in fp64.
HostTensor model_logits(const Problem& problem, std::span<const TensorView> inputs,
                        const AttentionOptions& options, bool dense);

/// Relative L2 of `produced` against `expected`, and what is wrong with single elements.
struct ElementCount {
  std::int64_t poisoned = 0, non_finite = 0;
};
double relative_l2(const Row& expected, const Row& produced) noexcept;
/// Largest difference of an element of a saved row, apart from the rounding to fp32.
double saved_error(const Row& expected, const Row& produced) noexcept;
ElementCount count_bad(const Row& expected, const Row& produced, Dtype dtype, double tolerance);
/// Share of the KV heads whose blocks are no right answer. `scores`: of each KV head, by block.
double wrong_share(const Problem& problem, std::int64_t position, std::span<const Row> scores,
                   const Row& produced);

}  // namespace nsa::reference
