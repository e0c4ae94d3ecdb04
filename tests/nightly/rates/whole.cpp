#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "../many_kinds.hpp"
#include "../worlds.hpp"
#include "figure.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

Figure units(Share share) {
  const std::size_t seeds = scaled(200, share);
  std::size_t compared = 0, same = 0, changes = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Report report = judge(many_kinds(seed, 1), {});
    for (const Verdict& v : report.series) changes += v.changes.size();
    for (const double scale : {1e-6, 1e-3, 3.0, 1e6}) {
      ++compared;
      same += unit_free(judge(many_kinds(seed, scale), {}), 6) == unit_free(report, 6);
    }
  }
  return {fmt::format("Same states, indices, ratios, p and q, to six digits, in times scaled by "
                      "1e-6 to 1e6; {} reports with {} changes",
                      compared, changes),
          "all", fmt::format("{} of {}", same, compared), same == compared};
}

Figure threads() {
  const std::vector<Series> series = many_kinds(1, 1);
  Options options;
  const std::string one = unit_free(judge(series, options), 17);
  std::size_t same = 0;
  for (const int count : {2, 3, 8, 48}) {
    options.threads = count;
    same += unit_free(judge(series, options), 17) == one;
  }
  return {"Same report, to 17 digits, with 2, 3, 8 and 48 threads", "all",
          fmt::format("{} of 4", same), same == 4};
}

Figure speed() {
  World world(9);
  std::vector<Series> series;
  for (int i = 0; i < 360; ++i) {
    series.push_back(series_of(world.nights(365, Noise::independent), 0.01, fmt::format("s{}", i)));
    for (Night& night : series.back().nights) {
      const double value = night.values[0];
      for (int r = 1; r < 10; ++r) night.values.push_back(value * std::exp(0.01 * world.normal()));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  judge(series, {});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {"Judging 360 series of 365 nights of 10 replicates, one core", "under 2 s",
          fmt::format("{:.1f} s", seconds), seconds < 2};
}

}  // namespace

std::vector<Figure> whole_figures(Share share) { return {units(share), threads(), speed()}; }

}  // namespace nsa::test
