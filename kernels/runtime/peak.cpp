#include "nsa/kernels/peak.hpp"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/blas.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa {

double measure_sgemm_flop_per_s(double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kN = 1024;
  constexpr double kFlop = 2.0 * kN * kN * kN;
  const std::vector<float> a(kN * kN, 0.5f), b(kN * kN, 0.25f);
  std::vector<float> c(kN * kN);
  std::vector<double> rates;
  const auto product = [&] {
    const MatrixView<const float> weights{b.data(), kN, kN, kN};
    parallel_gemm({a.data(), kN, kN, kN}, weights.transpose(), {c.data(), kN, kN, kN});
  };
  product();  // threads and pages
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto begin = Clock::now();
    product();
    rates.push_back(kFlop / std::chrono::duration<double>(Clock::now() - begin).count());
  } while (Clock::now() < end || rates.size() < 3);
  return median(std::move(rates));
}

}  // namespace nsa
