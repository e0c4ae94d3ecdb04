#include "gate_combine/cuda_launch.hpp"

namespace nsa::gate_combine {

constinit const LaunchFunction kCudaGateFused = nullptr;
constinit const LaunchFunction kCudaThreeSteps = nullptr;

}  // namespace nsa::gate_combine
