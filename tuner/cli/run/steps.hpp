// The timed loop of `run`.
#pragma once

#include <functional>
#include <optional>

#include "device.hpp"
#include "nsa/kernels/forward_bytes.hpp"
#include "options.hpp"
#include "trace.hpp"

namespace nsa::cli {

/// What one `run` measured. Times of a step are wall time around the whole call (host clock), on a
/// GPU until all of it is done.
struct RunTimes {
  std::int64_t first_call_ns = 0;       // the first step: pages, threads, workspace
  std::vector<std::int64_t> step_ns;    // counted steps
  std::vector<std::int64_t> decode_ns;  // decode steps, one new token per sequence, each waited for
  std::int64_t decode_flowing_ns = 0;   // of a step where none is waited for but the last
  std::int64_t decode_grow_events = 0;  // of the workspace, in all of these steps
  double decode_bytes = 0;              // that a step has to read: weights, K and V
  double flop_per_step = 0;
  std::int64_t tokens_per_step = 0;  // new tokens of a step: batch x seq_len
};

/// What happens beside the timed steps.
struct RunHooks {
  /// Called with the number of each counted step and its time in ns, outside of the timed region.
  std::function<void(std::int64_t step, std::int64_t ns)> after_step;
  /// Called with the time of the first call in ns; may be empty.
  std::function<void(std::int64_t ns)> after_first_call = {};
  std::optional<ForwardBytes> predicted = {};  // of a step; absent: of one layer
  RunTracer* tracer = nullptr;  // sees a step of each kind, none that is timed; null = none
};

/// Decode steps before those that are timed.
inline constexpr std::int64_t kDecodeWarmup = 3;
/// Tokens of a sequence that the caches of a decode loop have room for: each step is timed twice,
/// waited for and not.
inline std::int64_t decode_capacity(const RunPlan& plan) {
  return plan.seq_len + 2 * plan.decode + kDecodeWarmup;
}

RunTimes run_steps(const Context& context, const RunDevice& device, const RunPlan& plan,
                   const RunOptions& options, const RunHooks& hooks);

}  // namespace nsa::cli
