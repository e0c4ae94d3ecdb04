#include "attend_compressed/cuda_launch.hpp"

namespace nsa::attend_compressed {

constinit const LaunchFunction kCudaFlash = nullptr;
constinit const LaunchFunction kCudaFused = nullptr;

}  // namespace nsa::attend_compressed
