// What a share of the peak is a share of: the rate of this machine's matrix products now.
#pragma once

#include "nsa/schemas/types.hpp"

struct CUstream_st;

namespace nsa {

/// Median FLOP/s of square fp32 matrix products (n = 1024) on all threads of the runtime, measured
/// for about `seconds`. A measurement of this moment, not a data sheet's figure.
double measure_sgemm_flop_per_s(double seconds = 0.1);

/// Median FLOP/s of square cuBLASLt products of random numbers of that type on the current CUDA
/// device (n = 8192; fp32 without TF32: 4096). Zero where the device has no such product.
double measure_device_flop_per_s(Dtype dtype, CUstream_st* stream);

}  // namespace nsa
