// What the gradients of a stage should be, row by row, in fp64.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nsa/kernels/oracle.hpp"

namespace nsa {

namespace reference {
class OfHead;
}

/// The backward pass of one stage, or both passes of a composite, computed whole when it is first
/// asked for: a gradient of a key adds up what all queries that saw it say. Small problems by the
/// reference; larger ones by the first CPU row of the built-in order in fp64, on the log-sum-exp
/// that it makes itself: tests compare every such row with the reference. KV heads know nothing of
/// one another, so of attention that would take seconds one of them is computed, with its query
/// heads, and compared.
class BackwardOracle {
 public:
  /// `inputs` begin with those of signature_of(stage, backward), in their order; what follows is
  /// not read. Borrowed. `problem` is a backward one, or one of both passes. `sample`: for large
  /// ones. A baseline is dense attention.
  BackwardOracle(Stage stage, const Problem& problem, std::span<const TensorView> inputs,
                 const AttentionOptions& options = {}, HeadSample sample = {},
                 Role role = Role::candidate);
  ~BackwardOracle();
  static bool covers(Stage stage, Direction direction) noexcept;
  /// KV heads that are compared: all, or one.
  std::int64_t kv_heads() const noexcept { return problem_.kv_heads; }
  /// Of the output with most rows.
  std::int64_t rows() const noexcept;
  /// Compares rows (all if there are none given) of every gradient that has them, in any dtype. An
  /// error is relative to the row's norm, but to a tenth of a typical row's at least; for queries
  /// and keys of attention also to a tenth of a typical row of d_v, which their terms are made of:
  /// where these cancel, rounding alone is left. Of both passes the outputs are compared as a
  /// whole, since all of them follow the blocks that were selected, which have to be a right
  /// answer; errors of the forward output count by how much less of one is right. A gradient of
  /// biases is one row of both passes: its elements are sums over all tokens whose terms cancel by
  /// chance, and those terms hold the rounded outputs of the branches. Where one KV head speaks for
  /// all, what all heads add to is not compared: gradients of the gate's weights, and of a layer y
  /// and d_x. Of a model each tensor of weights counts as a row; where many layers have it, to a
  /// tenth of its typical norm at least.
  Oracle::Verdict verify(std::span<const TensorView> gradients,
                         std::span<const std::int64_t> rows = {}) const;
  /// A verdict for each of `rows`. The gradients hold those of these rows that they have, in this
  /// order. Not of both passes.
  std::vector<Oracle::Verdict> verify_packed(std::span<const TensorView> gradients,
                                             std::span<const std::int64_t> rows) const;

 private:
  struct Answer;
  /// What of the outputs is compared; absent views are not.
  struct Compared {
    std::vector<HostTensor> kept;  // what the views look at, where one head is
    std::vector<TensorView> views;
  };
  Compared compared(std::span<const TensorView> outputs) const;
  bool both_passes() const noexcept { return selection_ != nullptr; }
  double forward_flop() const;
  void take_head(std::int64_t kv_head);
  /// Makes answer_, of both passes over these blocks, unless it is there.
  void find_answer(const TensorView& blocks = {}) const;
  void set_floors(Answer& answer) const;
  Oracle::Verdict verify_model(const TensorView& gradients) const;
  Oracle::Verdict verify_passes(std::span<const TensorView> outputs) const;
  void judge(Oracle::Verdict& verdict, std::size_t gradient, std::int64_t row,
             const TensorView& produced, std::int64_t at) const;

  Stage stage_;
  Problem problem_;                  // of the KV heads that are compared
  std::vector<TensorView> inputs_;   // likewise
  std::vector<HostTensor> of_head_;  // what they look at, where one is compared
  AttentionOptions options_;
  bool dense_;
  std::vector<std::int64_t> extents_;        // rows of each output
  std::unique_ptr<reference::OfHead> head_;  // where one speaks for all
  std::unique_ptr<Oracle> selection_;        // of both passes: of the blocks
  mutable std::unique_ptr<Answer> answer_;
};

/// Largest error of a row of a gradient that is right: fp64 1e-10, fp32 1e-5, 16 bits 1e-2.
double gradient_tolerance(Dtype dtype) noexcept;
/// Of both passes of a composite: twice that, as of its forward pass; of a model twice what its
/// logits may be off by.
double both_passes_tolerance(Stage stage, Dtype dtype) noexcept;

}  // namespace nsa
