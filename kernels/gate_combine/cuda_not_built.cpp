#include "gate_combine/cuda_rows.hpp"

namespace nsa::gate_combine {

constinit const LaunchFunction kCudaGateFused = nullptr;
constinit const LaunchFunction kCudaThreeSteps = nullptr;

}  // namespace nsa::gate_combine
