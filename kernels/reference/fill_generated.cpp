#include "reference/fill_generated.hpp"

#include <algorithm>
#include <array>

#include "cpu/convert.hpp"
#include "cpu/simd/generate_rows.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa::reference {

void fill_generated(const TensorView& tensor, std::uint64_t seed, double scale) {
  constexpr std::int64_t kPiece = 1024;
  constexpr std::int64_t kGrain = 16;
  const std::int64_t elements = tensor.elements();
  parallel_for(
      0, (elements + kPiece - 1) / kPiece, kGrain, [&](std::int64_t first, std::int64_t last) {
        std::array<double, kPiece> piece;
        for (std::int64_t from = first * kPiece; from < std::min(last * kPiece, elements);
             from += kPiece) {
          const std::int64_t n = std::min(kPiece, elements - from);
          cpu::generate_row(static_cast<std::uint64_t>(from), n, seed, scale, piece.data());
          store_row(tensor, from, n, piece.data());
        }
      });
}

}  // namespace nsa::reference
