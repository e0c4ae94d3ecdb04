#include "nsa/kernels/peak.hpp"

namespace nsa {

double measure_device_flop_per_s(Dtype, CUstream_st*) { return 0; }

}  // namespace nsa
