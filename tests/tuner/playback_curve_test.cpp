// The truth of a world: curves, tiles, ripple, and what a script may say.
#include <cmath>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/tuner/playback.hpp"
#include "playback/world.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::test;
using namespace nsa::tuner::playback;

namespace {

World world(const std::string& variants, const std::string& more = "") {
  return parse_world(R"({"schema_version": 1, "executor": "sim", "stages": ["s"], "variants": [)" +
                         variants + "]" + more + "}",
                     "world", "");
}
const std::string kLine =
    R"({"name": "line", "time": {"launch_ns": 50, "terms": [{"ns": 2, "order": 1}]}})";

std::string complaint(const std::string& variants) {
  try {
    world(variants);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("terms are an overhead and powers of the length", "[tuner]") {
  const World w = world(R"({"name": "a", "time":
    {"launch_ns": 50, "terms": [{"ns": 2, "order": 1}, {"ns": 0.5, "order": 2}]}})");
  CHECK(true_ns(w, 0, 10) == Approx(50 + 20 + 50));
}

TEST_CASE("points are joined on logarithmic axes, and the outer pieces go on", "[tuner]") {
  const World w =
      world(R"({"name": "a", "time": {"points": [[100, 10], [400, 20], [1600, 160]]}})");
  CHECK(smooth_ns(w, 0, 100) == Approx(10));
  CHECK(smooth_ns(w, 0, 200) == Approx(10 * std::sqrt(2.0)));
  CHECK(smooth_ns(w, 0, 400) == Approx(20));
  CHECK(smooth_ns(w, 0, 6400) == Approx(1280));
  CHECK(smooth_ns(w, 0, 25) == Approx(5));
}

TEST_CASE("a relative time crosses where it says, by its slope", "[tuner]") {
  const World w = world(kLine + R"(, {"name": "b", "time":
    {"relative_to": "line", "slope_percent": -5, "crossings": [1000]}})");
  const auto ratio = [&](double length) {
    return smooth_ns(w, 1, length) / smooth_ns(w, 0, length);
  };
  CHECK(ratio(1000) == Approx(1));
  CHECK(ratio(2000) == Approx(0.95));
  CHECK(ratio(250) == Approx(1 / (0.95 * 0.95)));
}

TEST_CASE("three crossings turn the ratio half way between them, without a jump", "[tuner]") {
  const World w = world(kLine + R"(, {"name": "b", "time": {"relative_to": "line",
    "factor": 2, "slope_percent": 10, "crossings": [256, 1024, 4096]}})");
  const auto ratio = [&](double length) {
    return smooth_ns(w, 1, length) / smooth_ns(w, 0, length) / 2;
  };
  for (const double at : {256., 1024., 4096.}) CHECK(ratio(at) == Approx(1));
  CHECK(ratio(128) == Approx(1 / 1.1));
  CHECK(ratio(512) == Approx(1.1));
  CHECK(ratio(511.999) == Approx(1.1).epsilon(1e-5));
  CHECK(ratio(2048) == Approx(1 / 1.1));
  CHECK(ratio(8192) == Approx(1.1));
}

TEST_CASE("a tile is paid as a whole, and a remainder once more", "[tuner]") {
  const World w = world(R"({"name": "a", "tile": {"size": 128, "remainder_factor": 1.5}, "time":
    {"launch_ns": 0, "terms": [{"ns": 1, "order": 1}]}})");
  CHECK(true_ns(w, 0, 256) == Approx(256));
  CHECK(true_ns(w, 0, 257) == Approx(1.5 * 384));
  CHECK(smooth_ns(w, 0, 257) == Approx(257));
}

TEST_CASE("ripple belongs to a length, a variant and a seed, and has its sigma", "[tuner]") {
  const std::string variant =
      R"({"name": "a", "ripple": 0.015, "time": {"launch_ns": 1000, "terms": []}})";
  const World w = world(variant), other = world(variant, R"(, "seed": 1)");
  double sum = 0, squares = 0;
  constexpr int kLengths = 4000;
  for (int length = 1; length <= kLengths; ++length) {
    const double ripple = std::log(true_ns(w, 0, length) / 1000);
    sum += ripple;
    squares += ripple * ripple;
  }
  CHECK(true_ns(w, 0, 77) == true_ns(world(variant), 0, 77));
  CHECK(true_ns(w, 0, 77) != true_ns(other, 0, 77));
  CHECK(std::abs(sum / kLengths) < 0.001);
  CHECK(std::sqrt(squares / kLengths) == Approx(0.015).epsilon(0.05));
}

TEST_CASE("a script that makes no sense is refused with its place", "[tuner]") {
  CHECK(contains(complaint(kLine + "," + kLine), "/variants/1/name"));
  CHECK(contains(complaint(R"({"name": "a", "time": {"relative_to": "b"}})"),
                 "/variants/0/time/relative_to"));
  CHECK(contains(complaint(R"({"name": "a", "time": {"points": [[4, 1], [2, 1]]}})"),
                 "/variants/0/time/points/1"));
  CHECK(contains(complaint(kLine + R"(, {"name": "b", "time":
               {"relative_to": "line", "crossings": [5]}})"),
                 "/variants/1/time"));
  CHECK(contains(complaint(R"({"name": "a", "time": {"launch_ns": 0, "terms": []}})"), "no time"));
  CHECK(contains(complaint(R"({"name": "a", "speed": 1, "time": {"launch_ns": 1, "terms": []}})"),
                 "speed"));
}

TEST_CASE("each way to say a time is held to its own fields", "[tuner]") {
  CHECK(contains(complaint(R"({"name": "a", "time": {"relative_to": "b", "slope": 1}})"),
                 "unknown field \"slope\"; the fields are relative_to, "));
  CHECK(contains(complaint(R"({"name": "a", "time": {"terms": []}})"), "launch_ns"));
  CHECK(contains(complaint(R"({"name": "a", "time": {}})"), "/variants/0/time: needs terms"));
}

TEST_CASE("lengths are a list, ranges on a logarithmic axis, or both", "[tuner]") {
  using tuner::parse_lengths;
  CHECK(parse_lengths("7,100:400:3") == std::vector<std::int64_t>{7, 100, 200, 400});
  CHECK(parse_lengths("1:4:100") == std::vector<std::int64_t>{1, 2, 3, 4});
  for (const char* bad : {"", "0", "a", "5:", "9:5:3", "1:2", "1:8:1", "5,,6", "99999999999"})
    CHECK_THROWS_AS(parse_lengths(bad), InputError);
}
