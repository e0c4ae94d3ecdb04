#include "cuda/backward/band/band.hpp"

namespace nsa::attend_window {
namespace {

void launch_backward(const LaunchArgs& args) { cuda::band_backward(args, Branch::win); }

}  // namespace

extern constinit const LaunchFunction kCudaFusedBackward = launch_backward;

}  // namespace nsa::attend_window
