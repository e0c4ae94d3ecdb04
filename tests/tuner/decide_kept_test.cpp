// What a decision that is kept takes from the old file, and what from tonight's rows.
#include "catch.hpp"
#include "decide_support.hpp"

using nsa::Basis;
using nsa::FlatValue;
using namespace sim;

namespace {

/// A quadratic variant that is faster up to 500 tokens.
Session session(const std::string& run_id, std::int64_t longest = 16384) {
  Session s;
  s.variants = {{"line", [](double n) { return 1e4 + 100 * n; }},
                {"parabola", [](double n) { return 1e4 + 100 * n * n / 500; }}};
  std::erase_if(s.lengths, [=](std::int64_t length) { return length > longest; });
  s.noise = white(0.003, 2);
  s.run_id = run_id;
  return s;
}

nsa::tuner::DecideInput input_for(const Session& s, bool orders_are_declared = true) {
  auto input = input_of(s, measure(s));
  if (!orders_are_declared) return input;
  input.variants[0].order = nsa::WorkOrder{1, 0};
  input.variants[1].order = nsa::WorkOrder{2, 0};
  return input;
}

nsa::ThresholdTable tune(nsa::tuner::DecideInput input,
                         const std::optional<nsa::ThresholdTable>& shipped = {}) {
  input.shipped = shipped;
  return nsa::tuner::decide(input).table;
}

nsa::Decision& only(nsa::ThresholdTable& table) { return table.classes.at(0).decisions.at(0); }

}  // namespace

TEST_CASE("a kept decision ends where tonight's evidence ends", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  REQUIRE(only(shipped).ranges.back().basis == Basis::extrapolated);
  only(shipped).ranges.front().from = 10;
  nsa::ThresholdTable now = tune(input_for(session("tonight"), false), shipped);
  REQUIRE(only(now).ranges.size() == 2);
  CHECK(only(now).ranges.front().from == 64);
  CHECK(only(now).ranges[1].from == only(shipped).ranges[1].from);  // kept
  CHECK(only(now).ranges.back().to == 32768);
}

TEST_CASE("a kept decision goes on beyond as tonight's evidence says", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  const auto check = [](nsa::ThresholdTable now) {
    REQUIRE(only(now).ranges.size() == 3);
    const nsa::ThresholdRange& last = only(now).ranges.back();
    CHECK(last.basis == Basis::extrapolated);
    CHECK(last.variant.name == "line");
    CHECK(last.from == 32768);
    CHECK_FALSE(last.to.has_value());
    CHECK(last.evidence.run_ids == std::vector<std::string>{"tonight"});
    CHECK(last.evidence.why.find("parabola of order 2") != std::string::npos);
  };
  SECTION("the old end has the evidence of an older night") {
    only(shipped).ranges.back().evidence.why = "of old";
  }
  SECTION("the old file said nothing") { only(shipped).ranges.pop_back(); }
  SECTION("the old file let another variant go on") {
    only(shipped).ranges.back().variant = id("parabola");
  }
  check(tune(input_for(session("tonight")), shipped));
}

TEST_CASE("what goes on beyond stays where tonight's rows only doubt it", "[decide]") {
  // Both of order 1: `other` is 10 % behind at all lengths, and tonight seems to catch up.
  const auto behind = [](double falls, double noise, const char* run_id) {
    Session s = session(run_id);
    s.variants = {{"line", [](double n) { return 1e4 + 100 * n; }},
                  {"other", [=](double n) {
                     const double octaves = std::max(0.0, std::log2(n / 2048));
                     return (1e4 + 100 * n) * (1.1 - falls * octaves);
                   }}};
    s.noise = white(noise, 5);
    return s;
  };
  const auto input = [&](const Session& s) {
    auto made = input_for(s);
    made.variants[1].order = nsa::WorkOrder{1, 0};
    return made;
  };
  const nsa::ThresholdTable shipped = tune(input(behind(0, 0.002, "before")));
  REQUIRE(nsa::ThresholdTable(shipped).classes.at(0).decisions.at(0).ranges.back().basis ==
          Basis::extrapolated);
  nsa::ThresholdTable alone = tune(input(behind(0.035, 0.04, "tonight")));
  REQUIRE(only(alone).ranges.back().basis != Basis::extrapolated);
  nsa::ThresholdTable doubted = tune(input(behind(0.035, 0.04, "tonight")), shipped);
  CHECK(only(doubted).ranges.back().basis == Basis::extrapolated);
  CHECK(only(doubted).ranges.back().variant.name == "line");
  CHECK(only(doubted).ranges.back().from == 32768);
  CHECK(only(doubted).ranges.back().evidence.run_ids == std::vector<std::string>{"tonight"});
  nsa::ThresholdTable against = tune(input(behind(0.035, 0.01, "tonight")), shipped);
  CHECK(only(against).ranges.back().basis != Basis::extrapolated);
}

TEST_CASE("a gap before what goes on is closed where tonight's evidence has none", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  REQUIRE(only(shipped).ranges.back().from == 32768);
  only(shipped).ranges.back().from = 34000;  // near enough to be noise
  nsa::ThresholdTable now = tune(input_for(session("tonight")), shipped);
  REQUIRE(only(now).ranges.size() == 3);
  CHECK(only(now).ranges[1].to == 32768);
  CHECK(only(now).ranges[2].from == 32768);
}

TEST_CASE("a stretch that was extrapolated is measured where tonight measured it", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before", 4096)));
  REQUIRE(only(shipped).ranges.back().from == 8192);
  nsa::ThresholdTable now = tune(input_for(session("tonight")), shipped);
  REQUIRE(only(now).ranges.size() == 3);
  CHECK(only(now).ranges[1].from == only(shipped).ranges[1].from);
  CHECK(only(now).ranges[1].basis == Basis::measured);
  CHECK(only(now).ranges[1].to == 32768);
  CHECK(only(now).ranges[1].evidence.measured_to == 16384);
  CHECK(only(now).ranges[2].basis == Basis::extrapolated);
}

TEST_CASE("what longer lengths said stays where tonight measured shorter ones", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  nsa::ThresholdTable now = shipped;
  for (int night = 0; night < 3; ++night)  // the third one knows as well what the first rested on
    now = tune(input_for(session("tonight", 4096), false), now);
  REQUIRE(only(now).ranges.size() == 3);
  CHECK(only(now).ranges[1].to == 32768);
  CHECK(only(now).ranges[1].evidence.run_ids == std::vector<std::string>{"tonight"});
  CHECK(only(now).ranges[1].evidence.measured_to == 16384);
  CHECK(only(now).ranges[2] == only(shipped).ranges[2]);
  only(shipped).ranges.pop_back();
  now = shipped;
  for (int night = 0; night < 3; ++night)
    now = tune(input_for(session("tonight", 4096), false), now);
  CHECK(only(now).ranges.back().to == 32768);
}

TEST_CASE("what a partial night did not reach stays around what it changed", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  REQUIRE(only(shipped).ranges.size() == 3);
  Session s = session("tonight");  // the quadratic one is faster up to 2,000 tokens now
  s.variants[1].second = [](double n) { return 1e4 + 100 * n * n / 2000; };
  s.lengths = {900, 1500};
  nsa::ThresholdTable now = tune(input_for(s), shipped);
  const auto& ranges = only(now).ranges;
  REQUIRE(ranges.size() == 4);
  CHECK(ranges.front().from == 64);  // as shipped, up to half of what was measured
  CHECK(ranges[0].to == 450);
  CHECK(ranges[0].variant.name == "parabola");
  CHECK(ranges[1].variant.name == "parabola");
  CHECK(ranges[1].from == 450);
  CHECK(ranges[1].evidence.run_ids == std::vector<std::string>{"tonight"});
  CHECK(ranges[2].variant.name == "line");
  CHECK(ranges[2].from == ranges[1].to);
  CHECK(ranges[2].to == 32768);
  CHECK(ranges[2].evidence.run_ids == std::vector<std::string>{"before"});
  CHECK(ranges[3] == only(shipped).ranges[2]);
}

TEST_CASE("what is left of a range rests on no length beyond it", "[decide]") {
  Session s = session("before");
  s.variants = {{"a", linear(10)}, {"b", linear(5)}};
  nsa::ThresholdTable shipped = tune(input_of(s, measure(s)));
  REQUIRE(only(shipped).ranges.size() == 1);
  s.run_id = "tonight";
  s.lengths = {8192, 16384};
  s.variants = {{"a", linear(10)}, {"b", linear(20)}};
  nsa::ThresholdTable now = tune(input_of(s, measure(s)), shipped);
  const auto& ranges = only(now).ranges;
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].variant.name == "b");
  CHECK(ranges[1].variant.name == "a");
  CHECK(*ranges[0].evidence.measured_to < *ranges[0].to);
  CHECK(ranges[0].evidence.measured_from == 128);
}

TEST_CASE("a range that was undecided is decided once tonight tells", "[decide]") {
  nsa::ThresholdTable shipped = tune(input_for(session("before")));
  only(shipped).ranges[1].basis = Basis::undecided;
  only(shipped).ranges[1].evidence.why = "noise";
  nsa::ThresholdTable now = tune(input_for(session("tonight")), shipped);
  CHECK(only(now).ranges[1].basis == Basis::measured);
  CHECK(only(now).ranges[1].evidence.why.empty());
}

TEST_CASE("the ranges of full tiles carry tonight's evidence, too", "[decide]") {
  Session s;
  const auto tiled = [](double n) { return linear(10)(n) * (std::fmod(n, 128) == 0 ? 0.94 : 1.1); };
  s.variants = {{"plain", linear(10)}, {"tiled", tiled}};
  s.lengths = {128, 200, 512, 700, 1024, 1500, 2048, 3000, 4096, 6000, 8192};
  s.noise = white(0.003, 3);
  s.run_id = "before";
  nsa::ThresholdTable shipped = tune(input_of(s, measure(s)));
  REQUIRE(only(shipped).alignment);
  s.run_id = "tonight";
  nsa::ThresholdTable now = tune(input_of(s, measure(s, 2)), shipped);
  REQUIRE(only(now).alignment);
  REQUIRE(only(now).alignment->ranges.size() == 1);
  const nsa::Evidence& aligned = only(now).alignment->ranges[0].evidence;
  CHECK(aligned.run_ids == std::vector<std::string>{"tonight"});
  CHECK(aligned.lengths == 6);
  REQUIRE(only(now).ranges.size() == 1);
  CHECK(only(now).ranges[0].evidence.lengths == 5);
  CHECK(only(now).ranges[0].evidence.median_ratio.value_or(2) < 1);
}

TEST_CASE("noise at one length leaves no kept range of other lengths undecided", "[decide]") {
  Session s;
  const auto tiled = [](double n) { return linear(10)(n) * (std::fmod(n, 128) == 0 ? 0.94 : 1.1); };
  s.variants = {{"plain", linear(10)}, {"tiled", tiled}};
  s.lengths = {128, 200, 512, 700, 1024, 1500, 2048, 3000, 4096, 6000, 8192};
  s.noise = white(0.003, 3);
  nsa::ThresholdTable shipped = tune(input_of(s, measure(s)));
  REQUIRE(only(shipped).alignment);
  s.run_id = "tonight";
  s.noise = [calm = white(0.003, 4), loud = white(0.7, 5)](std::size_t l, std::size_t i,
                                                           std::size_t v) mutable {
    return l == 1 ? loud(l, i, v) : calm(l, i, v);
  };
  nsa::ThresholdTable now = tune(input_of(s, measure(s, 2)), shipped);
  REQUIRE(only(now).alignment);
  REQUIRE(only(now).ranges.size() == 1);
  CHECK(only(now).ranges[0].basis == Basis::measured);
}

TEST_CASE("a switch of a stage that was measured tonight is not taken from the old file",
          "[decide]") {
  Session s = session("tonight");
  s.variants = {{"masked", linear(10)}, {"elsewhere", linear(20)}};
  nsa::ThresholdTable shipped = tune(input_of(s, measure(s)));
  REQUIRE(shipped.classes.at(0).flat.force_sel_mask == FlatValue());
  shipped.classes[0].flat.force_sel_mask = FlatValue::always();
  shipped.classes[0].flat.sel_varlen_min_l = FlatValue::from(512);
  shipped.classes[0].flat.gate_compile = FlatValue::never();
  const nsa::FlatView now = tune(input_of(s, measure(s)), shipped).classes.at(0).flat;
  CHECK(now.force_sel_mask == FlatValue());
  CHECK(now.sel_varlen_min_l == FlatValue());
  CHECK(now.gate_compile == FlatValue::never());  // nothing of the gate was measured
}

TEST_CASE("thirty nights without a change move no end", "[decide]") {
  const double even_at = GENERATE(500.0, 24000.0, 60000.0);
  Session s;
  s.variants = {{"line", [](double n) { return 1e4 + 100 * n; }},
                {"parabola", [=](double n) { return 1e4 + 100 * n * n / even_at; }}};
  s.lengths.clear();
  for (int i = 0; i < 29; ++i) s.lengths.push_back(std::llround(128 * std::pow(2, i / 4.0)));
  const auto tuned = [&](std::uint64_t night, const std::optional<nsa::ThresholdTable>& shipped) {
    s.noise = white(0.005, night);
    return tune(input_for(s), shipped);
  };
  const auto places = [](nsa::ThresholdTable& table) {
    std::vector<std::int64_t> all;
    for (const auto& range : only(table).ranges) {
      all.push_back(range.from);
      all.push_back(range.to.value_or(0));
    }
    return all;
  };
  nsa::ThresholdTable shipped = tuned(1, {});
  const std::vector<std::int64_t> first = places(shipped);
  for (std::uint64_t night = 2; night <= 31; ++night) {
    shipped = tuned(night, shipped);
    CHECK(places(shipped) == first);
  }
}

TEST_CASE("a variant that ties fills no gap beside its neighbour", "[decide]") {
  Session s;  // `capped` runs up to 4,096 tokens; the other two are one
  s.variants = {{"line", linear(50)}, {"twin", linear(50)}, {"capped", linear(25)}};
  s.noise = white(0.005, 8);
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    auto rows = measure(s, seed);
    std::erase_if(rows, [](const nsa::Measurement& row) {
      return row.variant.name == "capped" && row.problem.max_seq_len() > 4096;
    });
    auto input = input_of(s, rows);
    for (auto& variant : input.variants) variant.order = nsa::WorkOrder{1, 0};
    nsa::ThresholdTable table = tune(std::move(input));
    CHECK(only(table).ranges[0].variant.name == "capped");
    REQUIRE(only(table).ranges.size() >= 2);
    CHECK(only(table).ranges[1].variant.name == only(table).ranges.back().variant.name);
  }
}

TEST_CASE("a margin changes no ratio of lengths that are decided apart", "[decide]") {
  Session s;
  const auto tiled = [](double n) { return linear(10)(n) * (std::fmod(n, 128) == 0 ? 0.6 : 1.1); };
  s.variants = {{"plain", linear(10)}, {"tiled", tiled}};
  s.lengths = {128, 200, 512, 700, 1024, 1500, 2048, 3000, 4096, 6000, 8192};
  s.noise = white(0.003, 3);
  auto input = input_of(s, measure(s));
  input.options.margin = 1.05;
  nsa::ThresholdTable table = tune(std::move(input));
  REQUIRE(only(table).alignment);
  CHECK(*only(table).alignment->ranges[0].evidence.median_ratio == Approx(0.6).epsilon(0.02));
}
