// Answers to known changes.
#include <fmt/format.h>

#include "catch.hpp"
#include "night/acks.hpp"
#include "worlds.hpp"

namespace nsa::test {

using namespace nightly;

namespace {

/// 60 nights with steps of 7 SD where they are wanted.
Series stepped(const std::vector<std::size_t>& at) {
  World world(4);
  std::vector<double> y = world.nights(60, Noise::independent);
  for (const std::size_t begin : at)
    for (std::size_t i = begin; i < y.size(); ++i) y[i] += 7;
  Series series = series_of(y, 0.01, "H100/packed@4096");
  for (Night& night : series.nights) {
    night.commit = fmt::format("abcdef{:04}", night.index);
    night.time = fmt::format("2026-03-{:02}T02:00:00Z", night.index % 30 + 1);
  }
  return series;
}

Options acked(const std::string& glob, const std::string& first, const std::string& last,
              const std::string& until = "2026-12-31") {
  Options options;
  options.acks = {{glob, first, last, "known", until}};
  options.today = "2026-06-01";
  return options;
}

int exit_with(const std::vector<std::size_t>& steps, const Options& options) {
  return judge({stepped(steps)}, options).exit_code;
}

}  // namespace

TEST_CASE("an ack of the glob and range answers for a change") {
  const Options options = acked("*/packed@*", "abcdef0049", "abcdef0050");
  CHECK(exit_with({50}, options) == 0);
  CHECK(judge_one(stepped({50}), options).state == State::acked);
  CHECK(judge_one(stepped({50}), options).changes[0].acked);
  CHECK(judge_one(stepped({50}), options).changes[0].answer == "known, until 2026-12-31");
}

TEST_CASE("an ack that spells coordinates as before answers for the series of today") {
  CHECK(matches_glob("stage/x.bq64 prefill *", "stage/x.bq=64 prefill 1x8 @ H100"));
  CHECK(matches_glob("stage/x.bq=64 *", "stage/x.bq=64 prefill 1x8 @ H100"));
  CHECK_FALSE(matches_glob("stage/x.bq32 *", "stage/x.bq=64 prefill 1x8 @ H100"));
}

TEST_CASE("an ack of another series, another range or another time answers for nothing") {
  CHECK(exit_with({50}, acked("*/masked@*", "abcdef0049", "abcdef0050")) == 1);
  CHECK(exit_with({50}, acked("*", "abcdef0020", "abcdef0021")) == 1);
  CHECK(exit_with({50}, acked("*", "abcdef0055", "abcdef0056")) == 1);
  CHECK(exit_with({50}, acked("*", "abcdef0049", "abcdef0050", "2026-06-01")) == 1);
  CHECK(exit_with({50}, acked("*", "abcdef0049", "abcdef0050", "2026-06-02")) == 0);
  CHECK(exit_with({50}, acked("*", "", "")) == 0);
}

TEST_CASE("a change that is found three nights beside its commit stays acked") {
  CHECK(exit_with({50}, acked("*", "abcdef0046", "abcdef0047")) == 0);
  CHECK(exit_with({50}, acked("*", "abcdef0045", "abcdef0046")) == 1);
  CHECK(exit_with({50}, acked("*", "abcdef0052", "abcdef0053")) == 0);
}

TEST_CASE("an ack never hides a further step") {
  for (const std::size_t further : {52u, 53u, 55u, 57u})
    CHECK(exit_with({50, further}, acked("*", "abcdef0049", "abcdef0050")) == 1);
  CHECK(exit_with({50, 55}, acked("*", "", "")) == 1);
}

TEST_CASE("dates and Unix seconds are compared as days, what is neither does not count") {
  CHECK(counts_until("", "whatever"));
  CHECK(counts_until("2026-03-02", "2026-03-01T23:59:59Z"));
  CHECK_FALSE(counts_until("2026-03-02", "2026-03-02T00:00:00Z"));
  CHECK(counts_until("2026-03-02", "1772323200"));
  CHECK_FALSE(counts_until("2026-03-01", "1772323200"));
  CHECK_FALSE(counts_until("2026-03-02", "59"));
  CHECK_FALSE(counts_until("2026-13-02", "2026-03-01"));
}

TEST_CASE("an ack without commits names times") {
  Series series = stepped({50});
  for (Night& night : series.nights) {
    night.commit.clear();
    night.time = std::to_string(night.index);
  }
  CHECK(judge_one(series, acked("*", "49", "50")).state == State::acked);
  CHECK(judge_one(series, acked("*", "20", "21")).state == State::confirmed);
}

}  // namespace nsa::test
