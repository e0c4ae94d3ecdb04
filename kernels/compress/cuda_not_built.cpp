#include "compress/cuda_launch.hpp"

namespace nsa::compress {

constinit const LaunchFunction kCudaAvg = nullptr;

}  // namespace nsa::compress
