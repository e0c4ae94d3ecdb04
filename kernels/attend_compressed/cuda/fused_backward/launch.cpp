#include "cuda/backward/band/band.hpp"

namespace nsa::attend_compressed {
namespace {

void launch_backward(const LaunchArgs& args) { cuda::band_backward(args, Branch::cmp); }

}  // namespace

extern constinit const LaunchFunction kCudaFusedBackward = launch_backward;

}  // namespace nsa::attend_compressed
