#include "nsa/selection/study.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "catch.hpp"
#include "picks.hpp"

namespace nsa::test {
namespace {

using namespace selection;

const StudyRow& row_of(const std::vector<StudyRow>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &StudyRow::name);
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("the exact selection takes the best candidates, ties to the lower block", "[reports]") {
  const Row scores{9, 1, 3, 3, 2, 0, 9, 9};  // 0, 6 and 7 are forced
  CHECK(exact_picks(scores, 5) == Picks{2, 3});
  CHECK(exact_picks(scores, 6) == Picks{2, 3, 4});
  CHECK(exact_picks(scores, 100).size() == 5);
  CHECK(exact_picks({1, 2}, 5).empty());
}

TEST_CASE("a hierarchy loses a third good block of one super-block", "[reports]") {
  const Row scores{0, 0, 0, 0, 9, 8, 7, 0, 1, 0, 0, 0, 0};  // super-block 1 is blocks 4 to 7
  CHECK(exact_picks(scores, 6) == Picks{4, 5, 6});
  const Picks found = hierarchical_picks(scores, 6);
  CHECK(std::ranges::find(found, 6) == found.end());
  CHECK(std::ranges::find(found, 4) != found.end());
}

TEST_CASE("as many picks as hold nine tenths of the score are kept", "[reports]") {
  const Row scores{0, 5, 4, 0.5, 0.5, 0, 0};
  CHECK(most_of_picks(scores, 7) == Picks{1, 2});
}

TEST_CASE("the exact selection loses nothing, and a smaller n drops the weaker picks",
          "[reports]") {
  const auto rows = study({.tokens = 2048, .heads = 2, .dim = 16, .geometry = {}});
  const StudyRow& exact = row_of(rows, "exact");
  CHECK(exact.recall == Approx(1));
  CHECK(exact.score == Approx(1));
  const StudyRow& eight = row_of(rows, "n 8");
  CHECK(eight.recall == Approx(5.0 / 13));
  CHECK(eight.score > eight.recall);
  CHECK(eight.reads == Approx(exact.reads - 8 * 64));
  CHECK(eight.queries == exact.queries);
}

TEST_CASE("picks of a neighbour fit better where neighbours are alike", "[reports]") {
  StudyOptions o{.tokens = 1536, .heads = 2, .dim = 16, .alike = 0, .geometry = {}};
  const double unlike = row_of(study(o), "reused, 2").recall;
  o.alike = 0.999;
  CHECK(row_of(study(o), "reused, 2").recall > unlike + 0.1);
}

TEST_CASE("the rule by the length drops picks only between 769 and 1,024 tokens", "[reports]") {
  CHECK(adaptive_count(512) == 8);
  CHECK(adaptive_count(513) == 12);
  CHECK(adaptive_count(1025) == 16);
  const auto at = [](std::int64_t tokens) {
    return study({.tokens = tokens, .heads = 1, .dim = 8, .geometry = {}});
  };
  CHECK(row_of(at(512), "adaptive n").queries == 0);
  CHECK(row_of(at(768), "adaptive n").queries == 0);
  CHECK(row_of(at(1024), "adaptive n").recall < 1);
  const auto longer = at(1100);
  CHECK(std::ranges::find(longer, "adaptive n", &StudyRow::name) == longer.end());
}

}  // namespace nsa::test
