#include "vendor/flashinfer/band.cuh"

namespace nsa::vendor {

void flashinfer_fp16_64(const FlashInferCall& call, Band band, Form form, CUstream_st* stream) {
  launch_flashinfer<__half, 64, 64>(call, band, form, stream);
}

}  // namespace nsa::vendor
