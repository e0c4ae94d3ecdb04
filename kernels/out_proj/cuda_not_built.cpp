#include "out_proj/cuda_rows.hpp"

namespace nsa::out_proj {

constinit const LaunchFunction kCudaGemm = nullptr;

}  // namespace nsa::out_proj
