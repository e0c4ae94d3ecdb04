// Which contests share worker processes.
#include "pool/batches.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "harness.hpp"

using namespace nsa;
using namespace nsa::test;
using tuner::make_batches;

namespace {

tuner::Contest contest(std::int64_t length, const std::string& stage, double estimated_s) {
  tuner::Contest contest;
  contest.problem = small_problem(length);
  contest.stages = {stage};
  contest.estimated_s = estimated_s;
  return contest;
}

/// "stage length" of each contest, batches in brackets.
std::string text_of(const std::vector<tuner::Batch>& batches) {
  std::string text;
  for (const tuner::Batch& batch : batches) {
    text += "[";
    for (const tuner::Contest* c : batch)
      text += c->stages[0] + std::to_string(c->problem.max_seq_len()) + " ";
    text.back() = ']';
  }
  return text;
}

}  // namespace

TEST_CASE("the cheapest contests come into the first batches", "[tuner]") {
  tuner::Plan plan;
  plan.contests = {contest(90, "a", 1), contest(40, "a", 0.2), contest(90, "b", 0.5),
                   contest(40, "b", 0.3)};
  CHECK(text_of(make_batches(plan, 3, 12)) == "[a40 b40][b90 a90]");
}

TEST_CASE("a batch never holds two lengths of one stage and class", "[tuner]") {
  tuner::Plan plan;
  plan.contests = {contest(40, "a", 0.1), contest(50, "a", 0.1), contest(60, "b", 0.1)};
  CHECK(text_of(make_batches(plan, 3, 12)) == "[a40 b60][a50]");
  plan.contests[1].problem.dtype = Dtype::bf16;  // another class
  CHECK(text_of(make_batches(plan, 3, 12)) == "[a40 a50 b60]");
}

TEST_CASE("a contest comes after the shorter lengths of its stage and class", "[tuner]") {
  tuner::Plan plan;
  plan.contests = {contest(40, "a", 0.1), contest(40, "b", 0.5), contest(50, "b", 1),
                   contest(60, "a", 3)};
  plan.contests.push_back(contest(60, "b", 3));
  // a60 would fit beside b50's batch only if it came before; what a40 shows may leave some out.
  CHECK(text_of(make_batches(plan, 4, 12)) == "[a40 b40][b50 a60][b60]");
}

TEST_CASE("a batch ends by its time and by its count, and one contest always fits", "[tuner]") {
  tuner::Plan plan;
  plan.contests = {contest(40, "a", 2), contest(40, "b", 2), contest(40, "c", 0.5),
                   contest(40, "d", 9)};
  CHECK(text_of(make_batches(plan, 3, 12)) == "[c40 a40][b40][d40]");
  CHECK(text_of(make_batches(plan, 100, 3)) == "[c40 a40 b40][d40]");
  CHECK(make_batches({}, 3, 12).empty());
}

namespace {

/// Batches of so many contests.
std::vector<tuner::Batch> batches_of(std::vector<std::size_t> counts) {
  std::vector<tuner::Batch> batches;
  for (const std::size_t count : counts) batches.emplace_back(count);
  return batches;
}

std::vector<std::size_t> side_by_side(std::vector<std::size_t> counts, std::size_t crews) {
  const auto batches = batches_of(std::move(counts));
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < batches.size(); i += runs.back())
    runs.push_back(tuner::some_batches(batches, i, crews).size());
  return runs;
}

}  // namespace

TEST_CASE("batches of a few contests run side by side, those of many by themselves", "[tuner]") {
  using Counts = std::vector<std::size_t>;
  CHECK(side_by_side({40, 30, 8, 2, 1, 1, 1, 1}, 4) == Counts{1, 1, 1, 4, 1});
  CHECK(side_by_side({3, 3, 3, 3}, 4) == Counts{3, 1});
  CHECK(side_by_side({3, 9}, 4) == Counts{1, 1});
  CHECK(side_by_side({9, 1, 1}, 1) == Counts{1, 1, 1});
  CHECK(side_by_side({}, 4).empty());
}

TEST_CASE("a crew has contests of one batch alone", "[tuner]") {
  using Crews = std::vector<std::size_t>;
  CHECK(tuner::crews_of(batches_of({1, 1, 2}), 4) == Crews{0, 1, 2, 2});
  CHECK(tuner::crews_of(batches_of({5, 1}), 4) == Crews{0, 1, 2, 0, 1, 3});
  CHECK(tuner::crews_of(batches_of({9}), 4) == Crews{0, 1, 2, 3, 0, 1, 2, 3, 0});
  CHECK(tuner::crews_of(batches_of({3}), 1) == Crews{0, 0, 0});
}
