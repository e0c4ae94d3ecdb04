#include "project_rope/cuda_launch.hpp"

namespace nsa::project_rope {

constinit const LaunchFunction kCudaFused = nullptr;
constinit const LaunchFunction kCudaGemm = nullptr;
constinit const LaunchFunction kCudaGemmTf32 = nullptr;
constinit const LaunchFunction kCudaGemm16bit = nullptr;

}  // namespace nsa::project_rope
