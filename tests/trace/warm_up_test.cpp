// Steps at the start that say nothing of the others.
#include "nsa/trace/warm_up.hpp"

#include "catch.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

trace::Trace with_steps(const std::vector<double>& lengths) {
  JsonTrace t;
  double at = 0;
  int id = 0;
  for (const double us : lengths) {
    t.range("ProfilerStep#" + std::to_string(10 + id), at, us);
    t.launched("k", id + 1, at + 1, at + 6, us / 2);
    at += us;
    ++id;
  }
  return t.read();
}

std::optional<trace::WarmUp> warm_up_of(const std::vector<double>& lengths) {
  const auto steps = trace::numbered_steps_of(with_steps(lengths));
  REQUIRE(steps);
  CHECK(steps->marked);
  CHECK(steps->count == lengths.size());
  return steps->warm_up;
}

}  // namespace

TEST_CASE("slow steps at the start are warm-up, slow ones later are not", "[trace]") {
  const auto found = warm_up_of({900, 400, 100, 101, 99, 100, 102});
  REQUIRE(found);
  CHECK(found->steps == 2);
  CHECK(found->later == std::pair<std::int64_t, std::int64_t>{12, 16});
  CHECK(found->later_median_ns == 100'000);
  CHECK_FALSE(warm_up_of({100, 101, 99, 100, 900, 102}));
  CHECK_FALSE(warm_up_of({900, 100, 101, 99, 100}));        // too few to tell
  CHECK_FALSE(warm_up_of({900, 900, 900, 100, 100, 100}));  // half of all
  CHECK_FALSE(warm_up_of({140, 100, 101, 99, 100, 102}));
}

}  // namespace nsa::test
