#include "cuda/backward/band.hpp"

namespace nsa::attend_compressed {
namespace {

void launch_fused(const LaunchArgs& args) { cuda::band_backward(args, Branch::cmp); }

}  // namespace

extern constinit const LaunchFunction kCudaFusedBackward = launch_fused;

}  // namespace nsa::attend_compressed
