#include "pool/outlook.hpp"

#include "catch.hpp"
#include "plan/length.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

Problem of_length(std::int64_t length) {
  Problem problem;
  return with_length(problem, length).value();
}

struct Row {
  std::string name;
  double order;
  double median_ns;
};

Candidate candidate_of(const Row& row) {
  Candidate candidate;
  candidate.id = {{"attend_selected"}, row.name, {}};
  candidate.order = {{"seq_len", row.order}, {"context_len", row.order}};
  return candidate;
}

Contest contest_at(std::int64_t length) {
  Contest contest;
  contest.problem = of_length(length);
  contest.stages = {"attend_selected"};
  return contest;
}

void add(Outlook& outlook, std::int64_t length, const std::vector<Row>& rows) {
  std::vector<Contestant> contestants;
  for (const Row& row : rows) {
    Contestant& one = contestants.emplace_back();
    one.candidate = candidate_of(row);
    Measurement measured;
    measured.median_ns = row.median_ns;
    one.add_visit({0, 0, 0}, measured);
  }
  outlook.add(contest_at(length), contestants);
}

bool left_out(const Outlook& outlook, std::int64_t length, const Row& row) {
  return outlook.hopeless(contest_at(length), candidate_of(row), 3).has_value();
}

}  // namespace

TEST_CASE("a variant of a higher order that is far behind is left out of longer lengths",
          "[tuner]") {
  Outlook outlook;
  add(outlook, 1024, {{"linear", 1, 1000}, {"square", 2, 4000}});
  add(outlook, 4096, {{"linear", 1, 3900}, {"square", 2, 60000}});
  CHECK(left_out(outlook, 65536, {"square", 2, 0}));
  CHECK_FALSE(left_out(outlook, 65536, {"linear", 1, 0}));
  CHECK_FALSE(left_out(outlook, 2048, {"square", 2, 0}));  // 4 times at 1024: it may come back
  CHECK(left_out(outlook, 1100, {"square", 2, 0}));
}

TEST_CASE("a variant of a lower order is left out where it stays behind at 16 times the length",
          "[tuner]") {
  Outlook outlook;
  add(outlook, 1024, {{"square", 2, 1000}, {"linear", 1, 90000}, {"loop", 1, 1e7}});
  add(outlook, 4096, {{"square", 2, 16000}, {"linear", 1, 360000}, {"loop", 1, 4e7}});
  CHECK_FALSE(left_out(outlook, 8192, {"linear", 1, 0}));  // 22 times slower, and 11 at 8192
  CHECK(left_out(outlook, 8192, {"loop", 1, 0}));          // 1250, and 78 at 131072
  CHECK_FALSE(left_out(outlook, 524288, {"loop", 1, 0}));  // 20, and 1 at 16 times the length
}

TEST_CASE("a variant whose launches dominate may still catch up", "[tuner]") {
  Outlook outlook;
  add(outlook, 2048, {{"small", 1, 1000}, {"launches", 1, 5000}});
  add(outlook, 4096, {{"small", 1, 1800}, {"launches", 1, 9000}});
  // Too near to one another to tell growth from noise: it may be half as far behind at 8192.
  CHECK_FALSE(left_out(outlook, 8192, {"launches", 1, 0}));
  add(outlook, 8192, {{"small", 1, 4000}, {"launches", 1, 20000}});
  CHECK(left_out(outlook, 65536, {"launches", 1, 0}));  // it grows as the other: launches are over
}

TEST_CASE("until the window and the selected blocks are full, times outgrow their order",
          "[tuner]") {
  Outlook outlook;
  add(outlook, 128, {{"small", 0, 1000}, {"launches", 0, 3500}});
  CHECK_FALSE(left_out(outlook, 512, {"launches", 0, 0}));
  add(outlook, 1024, {{"small", 0, 1000}, {"launches", 0, 3500}});
  CHECK(left_out(outlook, 4096, {"launches", 0, 0}));
}

TEST_CASE("what takes milliseconds is measured at a second length while that is cheap", "[tuner]") {
  Outlook outlook;
  add(outlook, 128, {{"batched", 1, 10'000}, {"loop", 1, 5e6}});
  CHECK(left_out(outlook, 400, {"loop", 1, 0}));        // too near to show how it grows
  CHECK_FALSE(left_out(outlook, 700, {"loop", 1, 0}));  // 27 ms: a lesson
  add(outlook, 700, {{"batched", 1, 20'000}, {"loop", 1, 27e6}});
  // Without the lesson 5 ms stand against 10 to 16 ms, and it would run for 2.3 s.
  CHECK(left_out(outlook, 60000, {"loop", 1, 0}));
  Outlook dear;  // 1.1 s
  add(dear, 128, {{"batched", 1, 10'000}, {"loop", 1, 2e8}});
  CHECK(left_out(dear, 700, {"loop", 1, 0}));
  Outlook quick;  // nothing to be saved
  add(quick, 128, {{"batched", 1, 10'000}, {"loop", 1, 9e5}});
  CHECK(left_out(quick, 700, {"loop", 1, 0}));
}

TEST_CASE("what may take long is known from shorter lengths", "[tuner]") {
  Outlook outlook;
  const auto slow = [&](std::int64_t length, const char* name) {
    return outlook.is_slow(contest_at(length), candidate_of({name, 1, 0}));
  };
  CHECK_FALSE(slow(1024, "loop"));  // nobody knows
  add(outlook, 1024, {{"quick", 1, 1000}, {"loop", 1, 2e6}});
  CHECK_FALSE(slow(2048, "loop"));  // 8 ms where it grows with the square
  CHECK(slow(4096, "loop"));
  CHECK_FALSE(slow(4096, "quick"));
}

TEST_CASE("times outgrow their order no longer than the window and the blocks fill", "[tuner]") {
  Outlook outlook;
  add(outlook, 128, {{"batched", 1, 1000}, {"loop", 1, 1e7}});
  // 1024 tokens are full: 8 times 8 up to there, 8 times from there to 8192.
  CHECK(left_out(outlook, 8192, {"loop", 1, 0}));
  CHECK_FALSE(left_out(outlook, 65536, {"loop", 1, 0}));
}

TEST_CASE("what the best takes is bounded from the nearest length that has it", "[tuner]") {
  Outlook outlook;
  add(outlook, 128, {{"batched", 1, 1000}, {"loop", 1, 1e7}});
  add(outlook, 32768, {{"batched", 1, 20000}});  // the other was left out there
  CHECK(left_out(outlook, 65536, {"loop", 1, 0}));
}

TEST_CASE("a width that the class does not have tells no lengths apart", "[tuner]") {
  Outlook outlook;
  add(outlook, 1024, {{"fast", 1, 1000}, {"slow", 1, 100000}});
  Contest contest = contest_at(2048);
  contest.problem.model.model_dim = 768;
  CHECK(outlook.hopeless(contest, candidate_of({"slow", 1, 0}), 3));
}

TEST_CASE("nobody is left out without an order, or by another shape or a longer length",
          "[tuner]") {
  Outlook outlook;
  add(outlook, 1024, {{"fast", 1, 1000}, {"slow", 1, 100000}});
  Contest contest = contest_at(2048);
  Candidate silent = candidate_of({"slow", 1, 0});
  CHECK(outlook.hopeless(contest, silent, 3));
  silent.order.clear();
  CHECK_FALSE(outlook.hopeless(contest, silent, 3));
  CHECK_FALSE(left_out(outlook, 512, {"slow", 1, 0}));
  contest.problem.dtype = Dtype::fp16;
  CHECK_FALSE(outlook.hopeless(contest, candidate_of({"slow", 1, 0}), 3));
}

TEST_CASE("without orders a variant is left out whose distance does not shrink", "[tuner]") {
  const auto silent = [](const std::string& name) {
    Candidate candidate = candidate_of({name, 1, 0});
    candidate.order.clear();
    return candidate;
  };
  const auto add_silent = [&](Outlook& outlook, std::int64_t length, double fast, double slow) {
    std::vector<Contestant> contestants(2);
    Measurement measured;
    contestants[0].candidate = silent("fast");
    measured.median_ns = fast;
    contestants[0].add_visit({0, 0, 0}, measured);
    contestants[1].candidate = silent("slow");
    measured.median_ns = slow;
    contestants[1].add_noisy({0, 0, 0}, measured);
    outlook.add(contest_at(length), contestants);
  };
  Outlook apart;
  add_silent(apart, 512, 1000, 50'000);
  CHECK_FALSE(apart.hopeless(contest_at(8192), silent("slow"), 3));  // one length shows no trend
  add_silent(apart, 2048, 2000, 200'000);
  CHECK(apart.hopeless(contest_at(8192), silent("slow"), 3));
  Outlook closing;  // 50 times, then 20: by 8192 it may be 1.3
  add_silent(closing, 512, 1000, 50'000);
  add_silent(closing, 2048, 3000, 60'000);
  CHECK_FALSE(closing.hopeless(contest_at(8192), silent("slow"), 3));
}

TEST_CASE("what may not be chosen leaves nobody out of longer lengths", "[tuner]") {
  const Row slow{"slow", 1, 0};
  for (const bool eligible : {true, false}) {
    Outlook outlook;
    std::vector<Contestant> contestants(2);
    contestants[0].candidate = candidate_of({"dense", 1, 0});
    contestants[0].eligible = eligible;
    contestants[1].candidate = candidate_of(slow);
    Measurement measured;
    measured.median_ns = 10;
    contestants[0].add_visit({0, 0, 0}, measured);
    measured.median_ns = 1000;
    contestants[1].add_visit({0, 0, 0}, measured);
    outlook.add(contest_at(1024), contestants);
    CHECK(left_out(outlook, 2048, slow) == eligible);
  }
}

TEST_CASE("wrong results and noisy visits say nothing of longer lengths", "[tuner]") {
  Outlook outlook;
  std::vector<Contestant> contestants(2);
  contestants[0].candidate = candidate_of({"fast", 1, 0});
  contestants[1].candidate = candidate_of({"slow", 1, 0});
  Measurement measured;
  measured.median_ns = 10;
  contestants[0].add_visit({0, 0, 0}, measured);
  contestants[0].verification = Verification::wrong_result;
  measured.median_ns = 1000;
  contestants[1].add_visit({0, 0, 0}, measured);
  outlook.add(contest_at(1024), contestants);
  CHECK_FALSE(left_out(outlook, 2048, {"slow", 1, 0}));
}

TEST_CASE("the best two paths of the users stay while neither is hopeless against the other",
          "[tuner]") {
  Outlook outlook;
  const auto rivals = [&](std::int64_t length, const Row& row) {
    return outlook.rivals(contest_at(length), candidate_of(row), 3);
  };
  const Row masked{"masked", 2, 0}, varlen{"varlen_v2", 1, 0}, packed{"packed", 1, 0};
  add(outlook, 1024,
      {{"fused_query", 1, 100},
       {"masked", 2, 10'000},
       {"varlen_v2", 1, 90'000},
       {"packed", 1, 200'000},
       {"ranges", 1, 500}});
  CHECK(left_out(outlook, 8192, masked));
  CHECK(left_out(outlook, 8192, varlen));
  CHECK(rivals(8192, masked));
  CHECK(rivals(8192, varlen));
  CHECK_FALSE(rivals(8192, packed));
  CHECK_FALSE(rivals(8192, {"fused_query", 1, 0}));  // no program of theirs has it
  CHECK_FALSE(rivals(8192, {"ranges", 1, 0}));       // theirs, but nothing that is switched on
  CHECK_FALSE(rivals(512, varlen));                  // no shorter length has been seen
  add(outlook, 65536, {{"fused_query", 1, 6400}, {"masked", 2, 4.1e7}, {"varlen_v2", 1, 5.8e6}});
  CHECK(rivals(131072, varlen));
  CHECK_FALSE(rivals(131072, masked));  // decided: by its order it only falls back further
}

TEST_CASE("a row that another one of its path has overtaken rivals nobody", "[tuner]") {
  Outlook outlook;
  const auto row = [](const char* name, std::int64_t block) {
    Candidate candidate = candidate_of({name, 1, 0});
    candidate.id.point = {{"block", block}};
    return candidate;
  };
  const auto add_three = [&](std::int64_t length, double narrow_ns, double wide_ns) {
    std::vector<Contestant> contestants(3);
    const double times[] = {narrow_ns, wide_ns, 2 * narrow_ns};
    for (std::size_t i = 0; i < 3; ++i) {
      contestants[i].candidate =
          i < 2 ? row("varlen_v2", static_cast<std::int64_t>(i)) : row("packed", 0);
      Measurement measured;
      measured.median_ns = times[i];
      contestants[i].add_visit({0, 0, 0}, measured);
    }
    outlook.add(contest_at(length), contestants);
  };
  const Candidate narrow = row("varlen_v2", 0), wide = row("varlen_v2", 1);
  add_three(1024, 100, 110);
  CHECK(outlook.rivals(contest_at(65536), narrow, 3));
  CHECK_FALSE(outlook.rivals(contest_at(65536), wide, 3));
  add_three(8192, 800, 700);
  CHECK_FALSE(outlook.rivals(contest_at(65536), narrow, 3));
  CHECK(outlook.rivals(contest_at(65536), wide, 3));
}

TEST_CASE("one path alone, and a slower row of a path, rival nobody", "[tuner]") {
  Outlook outlook;
  add(outlook, 1024, {{"fused_query", 1, 100}, {"masked", 2, 1000}});
  CHECK_FALSE(outlook.rivals(contest_at(4096), candidate_of({"masked", 2, 0}), 3));
  std::vector<Contestant> contestants(3);
  const char* names[] = {"varlen_v2", "varlen_v2", "packed"};
  for (std::size_t i = 0; i < 3; ++i) {
    contestants[i].candidate = candidate_of({names[i], 1, 0});
    contestants[i].candidate.id.point = {{"block", static_cast<std::int64_t>(i)}};
    Measurement measured;
    measured.median_ns = 100.0 * static_cast<double>(i + 1);
    contestants[i].add_visit({0, 0, 0}, measured);
  }
  outlook.add(contest_at(1024), contestants);
  CHECK(outlook.rivals(contest_at(4096), contestants[0].candidate, 3));
  CHECK_FALSE(outlook.rivals(contest_at(4096), contestants[1].candidate, 3));
}
