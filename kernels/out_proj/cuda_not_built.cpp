#include "out_proj/cuda_launch.hpp"

namespace nsa::out_proj {

constinit const LaunchFunction kCudaGemm = nullptr;
constinit const LaunchFunction kCudaGemmTf32 = nullptr;

}  // namespace nsa::out_proj
