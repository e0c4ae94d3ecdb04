// `gather` backward as the users' row loop has it: each row (query and KV head) in a launch of its
// own, after a wait for its ranges.
#include "attend_selected/cuda/gather_backward/gradients_of_rows.hpp"
#include "attend_selected/cuda/rows/host_ranges.hpp"

namespace nsa::attend_selected {
namespace {

void launch_ranges_backward(const LaunchArgs& args) {
  gradients_of_rows(args, [&](const cuda::BackwardParams& p, const cuda::GatherRows& rows) {
    for (const Sequence& s : args.sequences) {
      for (std::int64_t token = s.q_begin; token < s.q_begin + s.q_len; ++token) {
        for (int kv_head = 0; kv_head < p.attend.kv_heads; ++kv_head) {
          const auto ranges = cuda::read_ranges(p.attend, token, kv_head, s.kv_len, args.stream);
          expects(cuda::total_keys(ranges) <= s.kv_len, "ranges of keys that exist");
          cuda::kGatherGradients.of(args.problem.dtype)(
              p, {token * p.attend.kv_heads + kv_head, 1, rows.sums}, args.stream);
        }
      }
    }
  });
}

}  // namespace

extern constinit const LaunchFunction kCudaRangesBackward = launch_ranges_backward;

}  // namespace nsa::attend_selected
