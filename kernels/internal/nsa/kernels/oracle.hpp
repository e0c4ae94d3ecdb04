// The fp64 reference of every stage, one row at a time, so that anybody can check any row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa {

/// Comparison of one output row with the oracle. A row is one index of dimension 0 (a token, or a
/// compressed token), all heads of it.
struct RowError {
  double relative_l2 = 0;  // ||x - ref|| / max(||ref||, tiny); for integers the share that is wrong
  bool non_finite = false;  // NaN or Inf in the row
  bool poisoned = false;    // an element that still holds the poison
};

/// Knows the inputs of one stage and problem and computes any row of its outputs in fp64 from the
/// inputs as they are stored (rounded to the problem's dtype). What it computed it keeps, up to 128
/// MiB for each oracle: the outputs of several variants are compared in the same rows. A model is
/// computed whole, when the oracle is made: by the runtime's built-in rows in fp64, which are
/// checked row by row themselves.
class Oracle {
 public:
  /// `inputs` in the order of signature_of(stage); borrowed for the life of the oracle. For a
  /// baseline (composites only) the right answer is dense causal attention, and no blocks.
  Oracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs,
         const AttentionOptions& options = {}, Role role = Role::candidate);
  ~Oracle();
  std::int64_t rows(std::size_t output) const;
  /// The row in fp64, all elements of the trailing dimensions.
  std::vector<double> row(std::size_t output, std::int64_t row) const;
  /// Compares a row of a contiguous output. Selected blocks (score) and ranges count as right when
  /// they are a right answer: picks whose fp64 scores tie within the dtype's rounding may swap. The
  /// output of a composite is compared with that over the best blocks.
  RowError compare(std::size_t output, std::int64_t row, const TensorView& produced) const;
  /// All rows: the worst error, and how many elements hold the poison or are not finite. The output
  /// of a composite has to be that over the blocks beside it, where these are a right answer.
  struct Verdict {
    double worst_row_error = 0;
    std::int64_t worst_row = -1;
    std::int64_t poison_left = 0, non_finite = 0;
  };
  Verdict verify(std::span<const TensorView> outputs,
                 std::span<const std::int64_t> rows = {}) const;  // empty = all rows

 private:
  struct Checked {
    double error = 0;
    std::int64_t poisoned = 0, non_finite = 0;  // elements
  };
  /// `blocks`: what the same launch says it selected, for output 0 of a composite; may be absent.
  Checked check(std::size_t output, std::int64_t row, const TensorView& produced,
                const TensorView& blocks) const;
  /// Share of the KV heads of that row whose blocks are no right answer.
  double selection_error(std::int64_t row, const std::vector<double>& produced) const;
  struct Answer;
  struct Selection;
  struct Kept;
  /// Row `row` of an output, from what is kept.
  std::shared_ptr<const Answer> answer(std::size_t output, std::int64_t row) const;
  /// Scores and the best blocks of a row, of the stages that select.
  std::shared_ptr<const Selection> selection(std::int64_t row) const;
  std::vector<double> compute(std::size_t output, std::int64_t row) const;
  /// Output 0 of a composite, over a list of blocks for each KV head.
  std::vector<double> composite_row(std::int64_t row,
                                    const std::vector<std::vector<std::int32_t>>& chosen) const;
  /// The same over the best blocks, or over `blocks` in the KV heads where those are a right answer
  /// too.
  std::shared_ptr<const Answer> answer_over(std::int64_t row, const TensorView& blocks) const;

  Stage stage_;
  bool dense_;
  std::int64_t sel_count_;  // of the problem as it was asked
  Problem problem_;
  std::vector<TensorView> inputs_;
  AttentionOptions options_;
  std::vector<Sequence> sequences_;
  std::span<const TensorSpec> outputs_;
  std::vector<HostTensor> derived_;  // of composites: what the stages before the last one store
  std::unique_ptr<Kept> kept_;
};

/// Largest relative L2 of a row that counts as right: fp64 1e-12, fp32 1e-5, bf16 5e-3, fp16 1e-3;
/// for integer outputs 0. What a launch saves (log-sum-exps, gates) may be off by as much in each
/// element, and by the rounding to fp32: an error of a log-sum-exp is a relative one of the
/// probabilities that are made from it. Attention and layer may be off by twice that, because their
/// stages round one after the other. A model may be off by more: roundings add up over its layers,
/// and a tie that falls the other way in one layer changes every layer after it.
double row_tolerance(Stage stage, Dtype dtype) noexcept;

/// Which KV head speaks for all of a large problem.
struct HeadSample {
  std::uint64_t choice = 0;  // modulo the number of KV heads
  double most_flop = 4e10;   // of attention of all heads, forward: its backward pass takes a second
                             // in fp64 on 16 cores
  /// The next number than that of a problem: another head, where there are several.
  HeadSample after() const { return {choice + 1, most_flop}; }
  /// Problems of other lengths have other heads.
  static HeadSample of(const Problem& problem);
};

class BackwardOracle;

/// The oracle of a row that covers one stage or several: each stage's outputs are compared by its
/// own. Several stages only where each reads nothing that another one of them writes, and where all
/// outputs have as many rows; ContractError otherwise. Of a problem with gradients it is the
/// BackwardOracle of the one stage, whose outputs have numbers of rows of their own.
class SpanOracle {
 public:
  /// `inputs` in the order of signature_of(stages); borrowed. `sample`: of a BackwardOracle. The
  /// rest as for Oracle.
  SpanOracle(std::span<const Stage> stages, const Problem& problem,
             std::span<const TensorView> inputs, const AttentionOptions& options = {},
             Role role = Role::candidate, HeadSample sample = {});
  SpanOracle(SpanOracle&&) noexcept;
  ~SpanOracle();
  static bool covers(std::span<const Stage> stages, const Problem& problem);
  std::int64_t rows() const;
  /// Of one stage, forward: what a row of an output should be, as Oracle::row() says it.
  std::vector<double> row(std::size_t output, std::int64_t row) const;
  /// Over all outputs in the order of signature_of(stages); of all rows if there are none given.
  Oracle::Verdict verify(std::span<const TensorView> outputs,
                         std::span<const std::int64_t> rows = {}) const;
  /// A verdict for each of `rows`, side by side on all CPUs. The outputs hold these rows alone, in
  /// this order.
  std::vector<Oracle::Verdict> verify_packed(std::span<const TensorView> outputs,
                                             std::span<const std::int64_t> rows) const;

 private:
  struct Part {
    std::unique_ptr<Oracle> oracle;
    std::size_t outputs;
  };
  std::vector<Part> parts_;
  std::unique_ptr<BackwardOracle> backward_;
};

/// The largest of the stages: a wrong choice of blocks is an error of 1 / kv_heads or more.
double row_tolerance(std::span<const Stage> stages, Dtype dtype) noexcept;

/// The same in a direction: that of gradients where there are some.
double row_tolerance(std::span<const Stage> stages, Direction direction, Dtype dtype) noexcept;

/// The same for a row, whose own tolerance may be larger.
double row_tolerance(const Variant& row, Dtype dtype) noexcept;

}  // namespace nsa
