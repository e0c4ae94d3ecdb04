#include <fmt/format.h>

#include "../worlds.hpp"
#include "figure.hpp"
#include "series/null_table.hpp"
#include "series/split.hpp"

namespace nsa::test {

using namespace nightly;

std::vector<Figure> null_figures(Share share) {
  constexpr double kAlphas[] = {0.05, 0.01, 0.001};
  const std::size_t series = scaled(1000000, share);
  std::vector<Figure> figures;
  for (const std::size_t nights : {8u, 15u, 30u, 60u, 180u}) {
    World world(1000 + nights);
    std::size_t under[3] = {0, 0, 0};
    for (std::size_t i = 0; i < series; ++i) {
      const Split split = best_split_of_series(world.nights(nights, Noise::independent));
      const double p = chance_of_split(nights, split.t);
      for (int a = 0; a < 3; ++a) under[a] += p < kAlphas[a];
    }
    std::string measured;
    bool met = true;
    for (int a = 0; a < 3; ++a) {
      const double ratio = static_cast<double>(under[a]) / static_cast<double>(series) / kAlphas[a];
      measured += fmt::format("{}{:.2f}", a ? ", " : "", ratio);
      met &= ratio <= 1.2;
    }
    figures.push_back({fmt::format("P(p < a) / a of {} nights without a change, {} series; "
                                   "a = .05, .01, .001",
                                   nights, series),
                       "1.2 or less", measured, met});
  }
  return figures;
}

}  // namespace nsa::test
