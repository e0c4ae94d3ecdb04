#include "compress/cuda_rows.hpp"

namespace nsa::compress {

constinit const LaunchFunction kCudaAvg = nullptr;

}  // namespace nsa::compress
