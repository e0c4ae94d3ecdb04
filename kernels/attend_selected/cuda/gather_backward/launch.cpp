// The backward pass of attend_selected a row (query and KV head) at a time, all of them in one
// launch.
#include "attend_selected/cuda/gather_backward/gradients_of_rows.hpp"

namespace nsa::attend_selected {
namespace {

void launch_gather_backward(const LaunchArgs& args) {
  gradients_of_rows(args, [&](const cuda::BackwardParams& p, const cuda::GatherRows& rows) {
    cuda::kGatherGradients.of(args.problem.dtype)(p, rows, args.stream);
  });
}

}  // namespace

extern constinit const LaunchFunction kCudaGatherBackward = launch_gather_backward;

}  // namespace nsa::attend_selected
