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

/// "stage length:crew" of each contest, in the order in which they are measured.
std::string crews_text(const tuner::Plan& plan, std::size_t crews) {
  const auto batches = make_batches(plan, 100, 12);
  std::string text;
  for (const auto& [contest, crew] : tuner::place_in_crews(batches, crews))
    text += contest->stages[0] + std::to_string(contest->problem.max_seq_len()) + ":" +
            std::to_string(crew) + " ";
  return text;
}

}  // namespace

TEST_CASE("batches run side by side, each in a crew, the cheapest contests first", "[tuner]") {
  tuner::Plan plan;
  plan.contests = {contest(40, "a", 0.1), contest(50, "a", 0.3), contest(40, "b", 0.2),
                   contest(50, "b", 0.4)};
  CHECK(crews_text(plan, 2) == "a40:0 b40:0 a50:1 b50:1 ");
  plan.contests[2].estimated_s = 0.35;
  CHECK(crews_text(plan, 2) == "a40:0 a50:1 b40:0 b50:1 ");
}

TEST_CASE("batches of many contests have the crews that are left over", "[tuner]") {
  tuner::Plan plan;
  for (const char* stage : {"a", "b", "c", "d", "e"}) plan.contests.push_back(contest(9, stage, 1));
  CHECK(crews_text(plan, 1) == "a9:0 b9:0 c9:0 d9:0 e9:0 ");
  CHECK(crews_text(plan, 2) == "a9:0 b9:1 c9:0 d9:1 e9:0 ");
  CHECK(crews_text(plan, 9) == "a9:0 b9:1 c9:2 d9:0 e9:1 ");  // two of a crew get ready at once
  plan.contests.push_back(contest(12, "a", 2));
  CHECK(crews_text(plan, 4) == "a9:0 b9:1 c9:2 d9:0 e9:1 a12:3 ");
  CHECK(crews_text({}, 4).empty());
}
