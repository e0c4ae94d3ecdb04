// Night after night: keep what is shipped unless a change surely pays.
#include <algorithm>

#include "catch.hpp"
#include "decide/ratios/noise.hpp"
#include "decide_support.hpp"
#include "nsa/schemas/json.hpp"

using namespace sim;

namespace {

Session session(double crossing, double sigma, std::uint64_t seed) {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", crossing_at(crossing, 0.05, linear(10))}};
  s.lengths.clear();
  for (int i = 0; i < 29; ++i) s.lengths.push_back(std::llround(128 * std::pow(2, i / 4.0)));
  s.noise = white(sigma, seed);
  return s;
}

nsa::ThresholdTable tune(const Session& s, std::uint64_t seed,
                         const std::optional<nsa::ThresholdTable>& shipped) {
  auto input = input_of(s, measure(s, seed));
  input.shipped = shipped;
  input.options.seed = seed;
  return nsa::tuner::decide(input).table;
}

std::int64_t threshold(const nsa::ThresholdTable& table) {
  return table.classes.at(0).decisions.at(0).ranges.at(1).from;
}

}  // namespace

TEST_CASE("thirty nights without a change move no threshold", "[decide]") {
  nsa::ThresholdTable shipped = tune(session(1000, 0.005, 1), 1, {});
  const std::int64_t first = threshold(shipped);
  for (std::uint64_t night = 2; night <= 31; ++night) {
    shipped = tune(session(1000, 0.005, night), night, shipped);
    REQUIRE(threshold(shipped) == first);
  }
}

TEST_CASE("without the shipped table those nights would have moved the threshold", "[decide]") {
  const std::int64_t first = threshold(tune(session(1000, 0.005, 1), 1, {}));
  int moved = 0;
  for (std::uint64_t night = 2; night <= 11; ++night) {
    moved += threshold(tune(session(1000, 0.005, night), night, {})) != first;
  }
  CHECK(moved > 0);
}

TEST_CASE("a true shift of two percent is adopted within two nights", "[decide]") {
  nsa::ThresholdTable shipped = tune(session(1000, 0.002, 1), 1, {});
  const double moved = 1000 * std::pow(2, 0.02 / 0.05);  // b is 2 % slower than it was
  shipped = tune(session(moved, 0.002, 2), 2, shipped);
  shipped = tune(session(moved, 0.002, 3), 3, shipped);
  CHECK(threshold(shipped) > 1200);
  CHECK(threshold(shipped) < 1450);
}

namespace {

/// The first night: b crosses a at 900 tokens, 5 % an octave, and its two processes are that far
/// off, one up and one down.
nsa::ThresholdTable ship(double of_processes) {
  Session s = session(900, 0.0002, 1);
  const auto quiet = white(0.0002, 1);
  const auto per_process = 2 * static_cast<std::size_t>(2 * s.rounds * s.samples);
  s.noise = [=](std::size_t l, std::size_t i, std::size_t v) mutable {
    const double off = i < per_process ? of_processes : -of_processes;
    return std::exp(v == 1 ? off : 0) * quiet(l, i, v);
  };
  return tune(s, 1, {});
}

/// A later night knows well where the two cross, and measures 930 tokens, too.
nsa::ThresholdTable tune_again(double crossing, const nsa::ThresholdTable& shipped) {
  Session s = session(crossing, 0.0002, 2);
  s.lengths.insert(std::ranges::upper_bound(s.lengths, 930), 930);
  return tune(s, 2, shipped);
}

const nsa::Evidence& of_threshold(const nsa::ThresholdTable& table) {
  return table.classes.at(0).decisions.at(0).ranges.at(1).evidence;
}

}  // namespace

TEST_CASE("a threshold stays within the interval that it was shipped with", "[decide]") {
  const nsa::ThresholdTable shipped = ship(0.003);
  REQUIRE(threshold(shipped) == Approx(900).epsilon(0.01));
  REQUIRE(of_threshold(shipped).from_low < 850);
  REQUIRE(of_threshold(shipped).from_high > 1000);
  REQUIRE(of_threshold(shipped).from_high < 1200);
  SECTION("as long as tonight's place lies there") {  // b loses .5 % at 930 tokens
    const nsa::ThresholdTable now = tune_again(1000, shipped);
    CHECK(threshold(now) == threshold(shipped));
    CHECK(of_threshold(now).from_low == of_threshold(shipped).from_low);
    CHECK(of_threshold(now).from_high == of_threshold(shipped).from_high);
  }
  SECTION("and leaves it when tonight's place does") {
    CHECK(threshold(tune_again(1300, shipped)) == Approx(1300).epsilon(0.01));
  }
  SECTION("without an interval in the file, it goes where tonight puts it") {
    nsa::ThresholdTable old = shipped;
    old.classes.at(0).decisions.at(0).ranges.at(1).evidence.from_low.reset();
    CHECK(threshold(tune_again(1000, old)) == Approx(1000).epsilon(0.01));
  }
}

TEST_CASE("however wide its interval, a threshold that surely loses a percent moves", "[decide]") {
  nsa::ThresholdTable shipped = ship(0.003);
  nsa::Evidence& evidence = shipped.classes.at(0).decisions.at(0).ranges.at(1).evidence;
  evidence.from_low = 400;
  evidence.from_high = 2000;
  CHECK(threshold(tune_again(1000, shipped)) == threshold(shipped));
  CHECK(threshold(tune_again(1300, shipped)) == Approx(1300).epsilon(0.01));  // 1.5 % in between
}

TEST_CASE("a change of one threshold leaves another one where it was", "[decide]") {
  const auto night = [](double second_crossing, std::uint64_t seed) {
    Session s = session(1000, 0.003, seed);
    const Truth b = s.variants[1].second;
    s.variants.emplace_back("c", crossing_at(second_crossing, 0.1, b));
    return s;
  };
  const auto ranges_of = [](const nsa::ThresholdTable& table) -> const auto& {
    return table.classes.at(0).decisions.at(0).ranges;
  };
  const nsa::ThresholdTable before = tune(night(6000, 1), 1, {});
  const nsa::ThresholdTable now = tune(night(3000, 2), 2, before);
  REQUIRE(ranges_of(before).size() == 3);
  REQUIRE(ranges_of(now).size() == 3);
  CHECK(ranges_of(now)[2].from < 3500);
  CHECK(threshold(now) == threshold(before));
  CHECK(threshold(tune(night(3000, 2), 2, {})) != threshold(before));
}

TEST_CASE("a kept decision carries today's evidence", "[decide]") {
  const nsa::ThresholdTable shipped = tune(session(1000, 0.005, 1), 1, {});
  Session tonight = session(1000, 0.005, 2);
  tonight.run_id = "tonight";
  const nsa::ThresholdTable kept = tune(tonight, 2, shipped);
  REQUIRE(threshold(kept) == threshold(shipped));
  CHECK(kept.classes[0].decisions[0].ranges[1].evidence.run_ids ==
        std::vector<std::string>{"tonight"});
}

TEST_CASE("a shipped variant that now fails is replaced where it fails", "[decide]") {
  const Session s = session(1000, 0.002, 1);
  nsa::ThresholdTable shipped = tune(s, 1, {});
  auto rows = measure(s);
  for (auto& row : rows) {
    if (row.variant.name == "b" && row.problem.seq_lens[0] > 8000) {
      row.outcome = nsa::Outcome::crashed;
    }
  }
  auto input = input_of(s, rows);
  input.shipped = shipped;
  const auto report = nsa::tuner::decide(input);
  const auto& ranges = report.table.classes[0].decisions[0].ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[1].variant.name == "b");
  CHECK(ranges[2].variant.name == "a");
}

TEST_CASE(
    "a shipped variant that fails at one of the problems that share a length leaves that length",
    "[decide]") {
  Session s;  // beyond the window every problem has rows of 512 keys
  s.stage = "attend_window";
  s.variants = {{"sdpa", linear(10)}, {"fa2_dense", linear(9.9)}};
  nsa::ThresholdTable shipped = tune(s, 1, {});
  shipped.classes[0].decisions[0].ranges.resize(1);
  shipped.classes[0].decisions[0].ranges[0].variant = {{"attend_window"}, "fa2_dense", {}};
  auto rows = measure(s);
  for (auto& row : rows) {
    const bool every_other = row.problem.seq_lens[0] == 1024 || row.problem.seq_lens[0] == 4096;
    if (row.variant.name == "fa2_dense" && every_other) row.outcome = nsa::Outcome::crashed;
  }
  auto input = input_of(s, rows);
  input.shipped = shipped;
  const nsa::ThresholdTable table = nsa::tuner::decide(input).table;
  const auto& ranges = table.classes[0].decisions[0].ranges;
  for (const auto& range : ranges) CHECK((!range.to || *range.to > range.from));
  CHECK(ranges.back().variant.name == "sdpa");
  CHECK_NOTHROW(nsa::parse_thresholds(nsa::dump_thresholds(table), "the table"));
}

TEST_CASE("a shipped variant that was not measured is decided anew, with a note", "[decide]") {
  const Session s = session(1000, 0.002, 1);
  nsa::ThresholdTable shipped = tune(s, 1, {});
  for (auto& range : shipped.classes[0].decisions[0].ranges) range.variant = id("gone");
  auto input = input_of(s, measure(s));
  input.shipped = shipped;
  const auto report = nsa::tuner::decide(input);
  CHECK(report.table.classes[0].decisions[0].ranges.size() == 2);
  bool said = false;
  for (const auto& note : report.notes) said = said || note.find("was not measured") != note.npos;
  CHECK(said);
}

TEST_CASE("a decision for a variant that was not measured is kept, with a note", "[decide]") {
  Session s;
  const auto time = [](double factor) { return [=](double n) { return factor * (1e4 + 10 * n); }; };
  s.variants = {{"best", time(1)}, {"middle", time(1.5)}, {"slow", time(3)}};
  s.noise = white(0.003, 2);
  auto input = input_of(s, measure(s));
  input.shipped = nsa::tuner::decide(input).table;
  REQUIRE(input.shipped->classes[0].decisions[0].ranges[0].variant.name == "best");
  auto rows = measure(s, 3);
  std::erase_if(rows, [](const Measurement& row) { return row.variant.name == "best"; });
  input.rows = std::move(rows);
  const auto kept = nsa::tuner::decide(input);
  CHECK(kept.table.classes.at(0).decisions.at(0).ranges[0].variant.name == "best");
  CHECK(std::ranges::any_of(kept.notes, [](const std::string& note) {
    return note.find("attend_selected/best, which the shipped file chooses") != note.npos;
  }));
  SECTION("what failed was measured") {
    auto failed = measure(s, 3);
    for (Measurement& row : failed) {
      if (row.variant.name != "best") continue;
      row.outcome = nsa::Outcome::crashed;
      row.samples.clear();
      row.median_ns.reset();
    }
    input.rows = std::move(failed);
  }
  SECTION("what does not exist any more cannot be measured") {
    std::erase_if(input.variants, [](const auto& one) { return one.id.name == "best"; });
  }
  const auto anew = nsa::tuner::decide(input);
  CHECK(anew.table.classes.at(0).decisions.at(0).ranges[0].variant.name == "middle");
}

TEST_CASE("the shipped table of another executor or class is not followed", "[decide]") {
  const Session s = session(1000, 0.002, 1);
  nsa::ThresholdTable shipped = tune(s, 1, {});
  shipped.classes[0].decisions[0].ranges.resize(1);
  shipped.classes[0].decisions[0].ranges[0].to.reset();
  SECTION("executor") { shipped.executor = "other"; }
  SECTION("class") { shipped.classes[0].problem_class.dtype = nsa::Dtype::bf16; }
  const nsa::ThresholdTable now = tune(s, 1, shipped);
  CHECK(now.classes.back().decisions[0].ranges.size() == 2);  // after the shipped ones
}

TEST_CASE("a process that was asked for more rounds does not outvote another one", "[decide]") {
  using namespace nsa::tuner;
  const Ratio ratio =
      ratio_of({std::vector<double>(20, 0.0), std::vector<double>(5, -0.01)}).value();
  PooledNoise pooled;
  pooled.within = 1e-10;
  pooled.between = 1e-4;
  CHECK(value_of(ratio, pooled) == Approx(0).margin(1e-4));
  pooled.weights = Weights::processes;
  CHECK(value_of(ratio, pooled) == Approx(-0.005).margin(1e-4));
  pooled.between = 0;  // they do not differ
  CHECK(value_of(ratio, pooled) == Approx(0).margin(1e-4));
}
