// Attention of a decode step as one kernel, after compression: scores, selection, the three
// branches and the gate. Plain C++: what it gets, what it supports.
#pragma once

#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/support.hpp"

namespace nsa::decode {

/// Where the sequences stand, on the device, [batch] each. The window's rows may be elsewhere and
/// fewer (a cache keeps the last ones). Lengths are read from here alone: those of the problem only
/// bound them, so that a graph of the launch is right at every length up to them.
struct StepSequences {
  const Sequence* selected = nullptr;
  const Sequence* window = nullptr;
};

Support supports_step(const Problem& problem, const Device& device) noexcept;
/// Enqueues the step: one new token in each sequence, whose keys are in place already.
/// `tensors.cmp` are compressed rows. All three branches are on.
using AttendFunction = void (*)(const Problem& problem, const AttentionTensors& tensors,
                                const StepSequences& sequences, const AttentionOptions& options,
                                CUstream_st* stream);

/// All that a cache holds, as tensors of all its sequences.
struct CacheTensors {
  KvTensors sel;  // [batch * capacity, kv_heads, d]
  KvTensors win;  // [batch * window rows, kv_heads, d]
  KvTensors raw;  // [batch * cmp_block, kv_heads, d] not yet pooled
  KvTensors cmp;  // [batch * compressed rows, kv_heads, d]
};

/// How many tokens a sequence holds, on the device, between two steps.
struct Standing {
  std::int64_t length = 0, in_window = 0;
};
/// Rows of a cache per sequence.
struct CacheRows {
  std::int64_t capacity = 0, window = 0, compressed = 0;
};

/// Moves every sequence one token on: standing [batch] is raised by one, `selected` and `window`
/// [batch] say where the stages find the keys once the new ones are in place. In `window`,
/// cmp_begin is the number of rows by which those that stay move to the front first. A sequence
/// that is full stays where it is, and its last token is overwritten.
using AdvanceFunction = void (*)(const Problem& problem, const CacheRows& rows, Standing* standing,
                                 Sequence* selected, Sequence* window, CUstream_st* stream);
/// Puts the new rows `fresh.cmp`, `sel` and `win` [batch, kv_heads, d] in place and pools a block
/// that they complete (docs/nsa.md 9).
using AppendFunction = void (*)(const Problem& problem, const AttentionTensors& fresh,
                                const CacheTensors& cache, const StepSequences& sequences,
                                CUstream_st* stream);

// Null where the toolkit is missing; the row that runs them is then not built either.
extern const AdvanceFunction kAdvance;
extern const AppendFunction kAppendStep;
extern const AttendFunction kAttendStep;

}  // namespace nsa::decode
