#include "attend_selected/cuda_launch.hpp"

namespace nsa::attend_selected {

constinit const LaunchFunction kCudaMasked = nullptr;
constinit const LaunchFunction kCudaRanges = nullptr;
constinit const LaunchFunction kCudaGather = nullptr;

}  // namespace nsa::attend_selected
