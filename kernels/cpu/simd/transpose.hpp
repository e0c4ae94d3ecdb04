// Copies of small blocks for packing.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// out[d * ld_out + key] = in[key * ld_in + d] for key < keys and d < dim; columns from `keys` up
/// to pad_up(keys) become 0. ld_out is pad_up(keys) or more.
void transpose_rows(const float* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                    float* out, std::int64_t ld_out);
void transpose_rows(const double* in, std::int64_t ld_in, std::int64_t keys, std::int64_t dim,
                    double* out, std::int64_t ld_out);

/// True when x[0, n) holds neither NaN nor Inf.
bool all_finite(const float* x, std::int64_t n);
bool all_finite(const double* x, std::int64_t n);

}  // namespace nsa::cpu
