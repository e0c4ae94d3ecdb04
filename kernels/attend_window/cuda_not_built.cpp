#include "attend_window/cuda_launch.hpp"

namespace nsa::attend_window {

constinit const LaunchFunction kCudaFused = nullptr;

}  // namespace nsa::attend_window
