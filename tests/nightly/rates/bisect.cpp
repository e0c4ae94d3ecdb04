// How often a bisection of 64 commits finds the right one, and after how many builds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../worlds.hpp"
#include "figure.hpp"
#include "nsa/nightly/sequential.hpp"

namespace nsa::test {

using nightly::SequentialTest;
using nightly::Side;

namespace {

constexpr std::size_t kCommits = 64, kMostBuilds = 10, kMostPairs = 40;
constexpr double kSd = 0.01, kStep = 5 * kSd;  // of the time of a process, in logs

struct Bisection {
  std::size_t found = 0, builds = 0, pairs = 0;
};

/// The step as the nights showed it, 30 before and three with it, and the spread of 20 pairs.
SequentialTest test_of(World& world) {
  const double step = kStep + kSd * std::sqrt(1.0 / 30 + 1.0 / 3) * world.normal();
  double squares = 0;
  for (int i = 0; i < 20; ++i) squares += std::pow(world.normal() - world.normal(), 2);
  return {step, kSd * std::sqrt(squares / 20)};
}

/// Pairs of processes of the good build and of a candidate, in turns, until it is certain.
Side measure(World& world, Noise noise, bool slow, Bisection& bisection) {
  SequentialTest test = test_of(world);
  const std::vector<double> y = world.nights(2 * kMostPairs, noise);
  while (test.side() == Side::unknown && test.pairs() < kMostPairs) {
    const std::size_t at = 2 * test.pairs();
    const bool old_first = test.pairs() % 2 == 0;
    const double good = kSd * y[old_first ? at : at + 1];
    const double candidate = kSd * y[old_first ? at + 1 : at] + (slow ? kStep : 0);
    test.add(candidate - good);
  }
  bisection.pairs += test.pairs();
  return test.side() == Side::unknown ? test.likely_side() : test.side();
}

/// As git does with a straight line of commits: 0 is good, 64 is bad. The good build is one of the
/// builds, and a commit that cannot be told is built again, as a neighbour of it would be.
Bisection bisect(World& world, Noise noise, std::size_t first_bad) {
  Bisection bisection;
  bisection.builds = 1;
  std::size_t good = 0, bad = kCommits;
  while (bad - good > 1) {
    const std::size_t middle = (good + bad) / 2;
    ++bisection.builds;
    const Side side = measure(world, noise, middle >= first_bad, bisection);
    if (side == Side::good) good = middle;
    if (side == Side::bad) bad = middle;
  }
  bisection.found = bad;
  return bisection;
}

Figure found_of(const char* name, Noise noise, Share share) {
  const std::size_t runs = scaled(20000, share);
  World world(static_cast<std::uint64_t>(noise) + 640);
  std::size_t right = 0, most = 0, pairs = 0, builds = 0;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::size_t first_bad = 1 + i % kCommits;
    const Bisection b = bisect(world, noise, first_bad);
    right += b.found == first_bad && b.builds <= kMostBuilds;
    most = std::max(most, b.builds);
    pairs += b.pairs;
    builds += b.builds - 1;
  }
  const double rate = static_cast<double>(right) / static_cast<double>(runs);
  return {fmt::format("Bisection of {} commits, step of 5 SD, {}: the right commit with {} builds "
                      "or fewer; {} bisections",
                      kCommits, name, kMostBuilds, runs),
          "0.95",
          fmt::format("{:.4f}, {} builds at most, {:.1f} pairs for each", rate, most,
                      static_cast<double>(pairs) / static_cast<double>(builds)),
          rate >= 0.95};
}

}  // namespace

std::vector<Figure> bisect_figures(Share share) {
  return {found_of("independent times", Noise::independent, share),
          found_of("lag-1 correlation .4", Noise::autocorrelated, share),
          found_of("3 % outliers", Noise::outliers, share)};
}

}  // namespace nsa::test
