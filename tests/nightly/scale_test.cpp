// What does not depend on the unit of the times, nor on the number of threads.
#include <algorithm>

#include "catch.hpp"
#include "many_kinds.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

TEST_CASE("states, indices, ratios, p and q are the same in any unit of time") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string plain = unit_free(judge(many_kinds(seed, 1), {}), 6);
    for (const double scale : {1e-6, 1e-3, 0.1, 3.0, 1000.0, 1e6}) {
      CAPTURE(seed, scale);
      CHECK(unit_free(judge(many_kinds(seed, scale), {}), 6) == plain);
    }
  }
}

TEST_CASE("another unit of time from some night on hides no step before or after it") {
  World world(7);
  const std::vector<double> noise = world.nights(60, Noise::independent);
  for (const double factor : {1e3, 1e9, 1e300}) {
    for (const std::size_t step : {10, 50}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < noise.size(); ++i)
        values.push_back((i < 30 ? 1 : factor) * (i < step ? 1 : 1.1) * (1 + 0.005 * noise[i]));
      const Verdict verdict = judge_one(series_of_values(values));
      CAPTURE(factor, step);
      REQUIRE(verdict.changes.size() == 2);
      CHECK(verdict.changes[step < 30 ? 0 : 1].index == static_cast<std::int64_t>(step));
    }
  }
}

TEST_CASE("the series of many kinds have changes to compare") {
  const std::string plain = unit_free(judge(many_kinds(0, 1), {}), 6);
  CHECK(std::count(plain.begin(), plain.end(), '[') >= 10);
}

TEST_CASE("the report is the same to the last bit, whatever the number of threads") {
  const std::vector<Series> all = many_kinds(3, 1);
  Options options;
  const std::string one = unit_free(judge(all, options), 17);
  for (const int threads : {2, 5, 64}) {
    options.threads = threads;
    CHECK(unit_free(judge(all, options), 17) == one);
  }
}

}  // namespace nsa::test
