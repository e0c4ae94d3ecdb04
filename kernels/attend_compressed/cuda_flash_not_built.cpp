#include "attend_compressed/cuda_flash_launch.hpp"

namespace nsa::attend_compressed {

constinit const LaunchFunction kCudaFlash = nullptr;

}  // namespace nsa::attend_compressed
