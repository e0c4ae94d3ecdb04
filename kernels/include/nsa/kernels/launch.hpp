// The launch contract: what every variant gets, on every back end. Values are plain: threads may
// share one that none of them changes. A launch belongs to the thread that makes it, with its
// workspace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nsa/kernels/tensors.hpp"
#include "nsa/kernels/workspace.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

struct CUstream_st;  // cudaStream_t is a pointer to it; null on a CPU

namespace nsa {

struct Variant;
class Router;

/// One sequence of a (ragged) batch, as rows of the packed tensors.
/// Query i of the sequence is row q_begin + i and stands at position t = kv_len - q_len + i.
/// Key of position p is row kv_begin + p; compressed key c is row cmp_begin + c.
struct Sequence {
  std::int64_t q_begin = 0, q_len = 0;      // new tokens
  std::int64_t kv_begin = 0, kv_len = 0;    // cached and new tokens
  std::int64_t cmp_begin = 0, cmp_len = 0;  // num_compressed(kv_len)
  /// Position of query 0: that of the first new token.
  std::int64_t first_position() const noexcept { return kv_len - q_len; }
};

/// Rows of the packed tensors for each sequence of the problem.
std::vector<Sequence> sequences_of(const Problem& problem);

/// What a backward pass needs of the forward one; each view may be absent. A forward launch writes
/// those that are present, a backward launch reads them.
struct Saved {
  TensorView lse_cmp, lse_sel, lse_win;  // [tokens, q_heads] fp32, log-sum-exp (-inf: empty row)
  TensorView blocks;                     // [tokens, kv_heads, sel_count] int32, -1 = unused
  TensorView gates;                      // [tokens, kv_heads, 3] fp32, order cmp, sel, win
  /// Of rows with `folds_gates`: between the backward launch of gate_combine, which writes those
  /// that are present instead of the branch's d_o, and that of the branch, by Branch: [tokens,
  /// q_heads, 2] fp32, contiguous. A row of it is the log-sum-exp over log(2) less the log2 of the
  /// gate (inf: a row without keys, or a gate of 0), and the sum of d_o o (0 there). With these the
  /// branch's launch gets the gate's own d_o: gate x weight is exp2(logit - the first number).
  std::array<TensorView, 3> row_stats;

  /// The log-sum-exp of that branch.
  const TensorView& lse_of(Branch branch) const noexcept {
    return branch == Branch::cmp ? lse_cmp : branch == Branch::sel ? lse_sel : lse_win;
  }
};

/// Scalars that are not part of a problem (docs/nsa.md 2 and 8).
struct AttentionOptions {
  double rope_base = 10000.0;
  double rope_scale = 1.0;  // positions are divided by it
  double gate_tau = 1.0;
  bool uniform_gate = false;           // NSA_FORCE_UNIFORM_GATE
  std::optional<Branch> force_branch;  // NSA_FORCE_BRANCH: its weight is 1, the others' 0
  unsigned branches = kAllBranches;    // bit_of each: a branch that is off is not computed

  /// Whether the branch is computed.
  bool on(Branch branch) const noexcept { return (branches & bit_of(branch)) != 0; }
};

/// The forced branch as kernels take it: 0 cmp, 1 sel, 2 win, -1 none.
inline int forced_index(const AttentionOptions& options) noexcept {
  return options.force_branch ? static_cast<int>(index_of(*options.force_branch)) : -1;
}

/// One launch of `row`. `in` and `out` follow the names of the row's signature, in its order.
/// The row may use the caller's threads (CPU) or stream (CUDA) and this workspace, and keeps
/// nothing of a launch (descriptors and plans of libraries are kept by shape). Row r of a
/// row-contiguous tensor is all that may be assumed: strides are the caller's.
struct LaunchArgs {
  const Variant& row;
  const Problem& problem;
  std::span<const Sequence> sequences;         // [batch] host
  const Sequence* device_sequences = nullptr;  // [batch] where the tensors are; host on a CPU
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  const Point& point;
  const AttentionOptions& options;
  Workspace& workspace;
  CUstream_st* stream = nullptr;
  Saved* saved = nullptr;  // written by a forward launch, read by a backward one
  /// A row that runs the kernels of another one, or copies what it cannot read, since these tensors
  /// are not aligned as its own need it, says why here. Null: nobody asks.
  const char** fallback_reason = nullptr;
  /// Who chooses the rows that a composite's plan leaves open. Only composites need it.
  const Router* router = nullptr;
  /// Bit i: out[i] is read, added to and written; else it is overwritten. Backward rows only.
  unsigned accumulate = 0;

  /// Whether out[output] is added to; `output` below 32.
  bool adds_to(std::size_t output) const noexcept { return (accumulate >> output & 1u) != 0; }
  /// Where the log-sum-exp of a branch goes, or comes from, [tokens, q_heads] fp32; absent where
  /// nobody saves it.
  TensorView lse_of(Branch branch) const noexcept {
    return saved ? saved->lse_of(branch) : TensorView{};
  }
  /// Saved::row_stats of a branch; absent where the branch has a d_o of its own.
  TensorView row_stats_of(Branch branch) const noexcept {
    return saved ? saved->row_stats[index_of(branch)] : TensorView{};
  }
  /// Sets `fallback_reason` where somebody asks; `reason` is a literal: it is not copied.
  void fall_back(const char* reason) const noexcept {
    if (fallback_reason) *fallback_reason = reason;
  }
};

/// What runs a row of the table.
using LaunchFunction = void (*)(const LaunchArgs&);

}  // namespace nsa
