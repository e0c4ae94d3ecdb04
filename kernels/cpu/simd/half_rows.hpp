// Runs of bf16 and fp16 numbers to and from fp32, vectorised; the same bits as half.hpp gives.
#pragma once

#include <cstdint>

namespace nsa::cpu {

void widen_bf16(const std::uint16_t* in, std::int64_t n, float* out);
void widen_fp16(const std::uint16_t* in, std::int64_t n, float* out);
void narrow_to_bf16(const float* in, std::int64_t n, std::uint16_t* out);
void narrow_to_fp16(const float* in, std::int64_t n, std::uint16_t* out);
/// fp64 to fp32 with the last bit sticky, so that rounding once more, to 16 bits, is exact.
void round_to_odd(const double* in, std::int64_t n, float* out);

}  // namespace nsa::cpu
