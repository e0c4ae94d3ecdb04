#include "vendor/flashinfer/band.cuh"

namespace nsa::vendor {

void flashinfer_bf16_128(const FlashInferCall& call, Band band, Form form, CUstream_st* stream) {
  launch_flashinfer<__nv_bfloat16, 128, 128>(call, band, form, stream);
}

}  // namespace nsa::vendor
