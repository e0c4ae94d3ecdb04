#include "out_proj/cuda_rows.hpp"

namespace nsa::out_proj {

constinit const LaunchFunction kCudaGemm = nullptr;
constinit const LaunchFunction kCudaGemmTf32 = nullptr;

}  // namespace nsa::out_proj
