#include "score/cuda_launch.hpp"

namespace nsa::score {

constinit const LaunchFunction kCudaMaterialised = nullptr;
constinit const LaunchFunction kCudaPCmpBf16 = nullptr;
constinit const LaunchFunction kCudaPCmpFp16 = nullptr;
constinit const LaunchFunction kCudaPSlcBf16 = nullptr;

}  // namespace nsa::score
