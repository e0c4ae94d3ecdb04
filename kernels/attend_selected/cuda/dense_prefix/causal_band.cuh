// All keys up to the query, as a band.
#pragma once

#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

struct CausalBand {
  __device__ static int begin(const AttendParams&, int) { return 0; }
  __device__ static int end(const AttendParams&, int t) { return t + 1; }
  __device__ static std::int64_t first_row(const Sequence& s) { return s.kv_begin; }
};

}  // namespace nsa::cuda
