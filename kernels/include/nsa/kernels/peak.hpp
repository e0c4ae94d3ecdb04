// The yardstick for "share of the peak" on a CPU: what this machine's BLAS reaches now.
#pragma once

namespace nsa {

/// Median FLOP/s of square fp32 matrix products (n = 1024) on all threads of the runtime, measured
/// for about `seconds`. A measurement of this moment, not a data sheet's figure.
double measure_sgemm_flop_per_s(double seconds = 0.1);

}  // namespace nsa
