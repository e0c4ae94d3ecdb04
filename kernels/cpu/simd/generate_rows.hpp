// Runs of generated numbers, vectorised.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// out[i] = generate(first + i, seed, scale), the same bits.
void generate_row(std::uint64_t first, std::int64_t n, std::uint64_t seed, double scale,
                  double* out);

}  // namespace nsa::cpu
