// Runs that measured other variants at other lengths: what nobody asked is not what cannot run.
#include "catch.hpp"
#include "decide_support.hpp"

using namespace sim;

namespace {

using Variants = std::vector<std::pair<std::string, Truth>>;

Truth times(double factor) {
  return [=](double n) { return factor * linear(10)(n); };
}

std::vector<Measurement> run_of(const std::string& run, const Variants& variants,
                                std::vector<std::int64_t> lengths) {
  Session s;
  s.variants = variants;
  s.lengths = std::move(lengths);
  s.run_id = run;
  s.noise = white(0.002, run.size() + run.back());
  return measure(s, 5);
}

nsa::tuner::DecideReport decide_runs(const Variants& variants,
                                     const std::vector<std::vector<Measurement>>& runs) {
  Session s;
  s.variants = variants;
  std::vector<Measurement> rows;
  for (const auto& run : runs) rows.insert(rows.end(), run.begin(), run.end());
  return nsa::tuner::decide(input_of(s, std::move(rows)));
}

const std::vector<nsa::ThresholdRange>& ranges_of(const nsa::tuner::DecideReport& report) {
  return report.table.classes.at(0).decisions.at(0).ranges;
}

}  // namespace

TEST_CASE("runs of different lengths that share a variant give one range", "[decide]") {
  const Variants all{{"a", times(1)}, {"b", times(0.8)}, {"c", times(1.1)}};
  const auto report = decide_runs(all, {run_of("run1", {all[0], all[1]}, {128, 512, 2048, 8192}),
                                        run_of("run2", {all[0], all[2]}, {256, 1024, 4096})});
  REQUIRE(ranges_of(report).size() == 1);
  CHECK(ranges_of(report)[0].variant.name == "b");
  CHECK(ranges_of(report)[0].evidence.lengths == 4);  // where it was measured
}

TEST_CASE("runs of different lengths that share no variant give one range", "[decide]") {
  const Variants all{{"a", times(1)}, {"b", times(0.6)}};
  const auto report = decide_runs(all, {run_of("run1", {all[0]}, {256, 1024, 4096}),
                                        run_of("run2", {all[1]}, {128, 512, 2048, 8192})});
  REQUIRE(ranges_of(report).size() == 1);
  CHECK(ranges_of(report)[0].variant.name == "b");
}

TEST_CASE("what nobody asked is chosen there by a clear lead only", "[decide]") {
  const Variants all{{"a", times(1)}, {"b", times(0.99)}};
  const auto report = decide_runs(all, {run_of("run1", {all[0]}, {256, 1024, 4096}),
                                        run_of("run2", {all[1]}, {128, 512, 2048, 8192})});
  // Other runs have other clocks: 1 % tells nothing, and no length is a range of its own.
  for (const auto& range : ranges_of(report)) {
    REQUIRE(range.to);
    CHECK(*range.to > range.from + 1);
  }
  CHECK(ranges_of(report).size() <= 3);
}

TEST_CASE("a crossing lies between lengths that different runs measured", "[decide]") {
  const Truth reference = times(1);
  const Variants all{{"a", reference}, {"b", crossing_at(900, 0.2, reference)}};
  const auto report = decide_runs(all, {run_of("run1", all, {128, 512, 2048, 8192}),
                                        run_of("run2", {all[0]}, {256, 1024, 4096})});
  REQUIRE(ranges_of(report).size() == 2);
  CHECK(ranges_of(report)[0].variant.name == "a");
  CHECK(ranges_of(report)[1].variant.name == "b");
  CHECK(ranges_of(report)[1].from > 750);
  CHECK(ranges_of(report)[1].from < 1100);
}

TEST_CASE("a variant that a run left out at a length stays out there", "[decide]") {
  const Variants all{{"a", times(1)}, {"b", times(0.8)}};
  auto rows = run_of("run1", all, {128, 512, 2048, 8192});
  std::erase_if(rows, [](const Measurement& row) {
    return row.variant.name == "b" && row.problem.seq_lens[0] == 512;
  });
  const auto report = decide_runs(all, {rows});
  CHECK(range_at(report.table.classes[0].decisions[0], 512).variant.name == "a");
  CHECK(range_at(report.table.classes[0].decisions[0], 2048).variant.name == "b");
}

TEST_CASE("nothing is known of a variant beyond the lengths that it was asked at", "[decide]") {
  const Variants all{{"a", times(1)}, {"b", times(0.5)}};
  const auto report = decide_runs(
      all, {run_of("run1", all, {512, 1024, 2048}), run_of("run2", {all[0]}, {8192, 16384})});
  CHECK(range_at(report.table.classes[0].decisions[0], 2048).variant.name == "b");
  CHECK(range_at(report.table.classes[0].decisions[0], 8192).variant.name == "a");
}

TEST_CASE("doubt at the longest length leaves the lengths before it decided", "[decide]") {
  Session s;
  s.lengths = {256, 512, 1024, 2048, 4096, 8192};
  s.variants = {{"a", times(1)}, {"b", [](double n) { return times(n > 5000 ? 1 : 1.5)(n); }}};
  s.noise = [calm = white(0.002, 3)](std::size_t l, std::size_t i, std::size_t v) mutable {
    constexpr std::size_t kOfOneProcess = 16;  // one says half the time, the other hardly less
    const double b = i < kOfOneProcess ? 0.5 : 0.85;
    return calm(l, i, v) * (l == 5 && v == 1 ? b : 1);
  };
  const auto report = decide(s, 3);
  const nsa::Decision& d = report.table.classes.at(0).decisions.at(0);
  REQUIRE(d.ranges.size() == 2);
  CHECK(range_at(d, 4096).basis == nsa::Basis::measured);
  CHECK(range_at(d, 8192).basis == nsa::Basis::undecided);
  CHECK(report.decided == 1);
}

TEST_CASE("where a variant stops its boundary may be anywhere between the lengths", "[decide]") {
  Session s;
  s.lengths = {128, 256, 512, 1024, 4096, 16384};
  s.variants = {{"a", times(1)}, {"b", times(0.5)}};
  s.noise = white(0.002, 3);
  auto rows = measure(s);
  for (Measurement& row : rows) {
    if (row.variant.name != "b" || row.problem.seq_lens[0] < 4000) continue;
    row.outcome = nsa::Outcome::out_of_memory;
    row.samples.clear();
  }
  const auto report = nsa::tuner::decide(input_of(s, rows));
  const auto& ranges = ranges_of(report);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[1].evidence.from_low == 1025);
  CHECK(ranges[1].evidence.from_high == 4096);
}

TEST_CASE("a contest that another run left out as too long takes nothing from one that ran",
          "[decide]") {
  Session s;
  s.variants = {{"a", [](double) { return 1e5; }}, {"b", [](double) { return 2e5; }}};
  std::vector<Measurement> rows = measure(s);
  const auto alone = nsa::tuner::decide(input_of(s, rows));
  for (const std::size_t v : {0u, 1u}) {
    Measurement row = row_of(s, v, 16384);
    row.run_id = "full";
    row.outcome = nsa::Outcome::unsupported;
    row.reason = "contest left out: estimated at 400 s here, and contest_limit_s is 180 s";
    rows.push_back(std::move(row));
  }
  const auto together = nsa::tuner::decide(input_of(s, rows));
  CHECK(together.table == alone.table);
  CHECK(together.notes == alone.notes);
}
