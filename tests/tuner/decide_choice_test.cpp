// What is chosen, and what never is.
#include "catch.hpp"
#include "decide_support.hpp"

using nsa::Outcome;
using nsa::Verification;
using namespace sim;

namespace {

/// a is the best up to 1000, b above.
Session two_variants() {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", crossing_at(1000, 0.2, linear(10))}};
  return s;
}

nsa::Decision only_decision(const nsa::tuner::DecideReport& report) {
  REQUIRE(report.table.classes.size() == 1);
  REQUIRE(report.table.classes[0].decisions.size() == 1);
  return report.table.classes[0].decisions[0];
}

std::string names(const nsa::Decision& decision) {
  std::string text;
  for (const auto& range : decision.ranges) text += range.variant.name + " ";
  return text;
}

bool noted(const nsa::tuner::DecideReport& report, const std::string& part) {
  for (const std::string& note : report.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE(
    "one crossing gives two half-open ranges, from half the shortest to twice the longest length",
    "[decide]") {
  Session s = two_variants();
  s.noise = white(0.003, 3);
  const nsa::Decision d = only_decision(decide(s));
  REQUIRE(names(d) == "a b ");
  CHECK(d.ranges[0].from == 64);
  CHECK(d.ranges[0].to == d.ranges[1].from);
  CHECK(d.ranges[1].to == 32768);
  CHECK(d.ranges[1].from >= 970);
  CHECK(d.ranges[1].from <= 1030);
  const nsa::Evidence& e = d.ranges[1].evidence;
  CHECK(e.runner_up == "attend_selected/a");
  CHECK(e.pairs == 5 * 4);
  CHECK(*e.ratio_low < *e.median_ratio);
  CHECK(*e.median_ratio < *e.ratio_high);
  CHECK(*e.p_better == 1.0);
  CHECK(*e.from_low <= d.ranges[1].from);
  CHECK(d.ranges[1].from <= *e.from_high);
  CHECK(e.run_ids == std::vector<std::string>{"run"});
  CHECK(d.ranges[1].source_hash == "hash_b");
}

TEST_CASE("a variant that wins everywhere has one range that ends where its evidence ends",
          "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(5)}};
  const nsa::Decision d = only_decision(decide(s));
  REQUIRE(names(d) == "b ");
  CHECK(d.ranges[0].from == 64);
  CHECK(d.ranges[0].to == 32768);
  CHECK(d.ranges[0].evidence.measured_from == 128);
  CHECK(d.ranges[0].evidence.measured_to == 16384);
  CHECK(d.ranges[0].evidence.lengths == 8);
}

TEST_CASE("three crossings give four ranges where one threshold would cost a percent", "[decide]") {
  Session s;
  const Truth a = linear(10);
  s.variants = {{"a", a}, {"b", [a](double n) {
                             return a(n) * (1 - 0.06 * std::sin(std::log2(n / 96) * 1.8));
                           }}};
  s.lengths.clear();
  for (int i = 0; i < 29; ++i) s.lengths.push_back(std::llround(128 * std::pow(2, i / 4.0)));
  s.noise = white(0.003, 5);
  const nsa::Decision d = only_decision(decide(s));
  CHECK(d.ranges.size() >= 3);
  CHECK(mean_regret(s, d) <= 0.001);
  double best_single = INFINITY;
  for (const std::int64_t split : s.lengths) {
    nsa::Decision one = d;
    one.ranges.resize(2);
    for (const auto& [low, high] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
      one.ranges[0] = range(0, split, id(low));
      one.ranges[1] = range(split, {}, id(high));
      if (split == s.lengths.front()) one.ranges[0].to = 1;
      best_single = std::min(best_single, mean_regret(s, one));
    }
  }
  CHECK(best_single >= 0.01);
}

TEST_CASE("slow paths, baselines and wrong results are never chosen however fast", "[decide]") {
  Session s;
  s.variants = {
      {"right", linear(10)}, {"slow", linear(2)}, {"dense", linear(2)}, {"wrong", linear(1)}};
  auto rows = measure(s);
  for (auto& row : rows) {
    // wrong at one length only: the lengths beside it were not checked, so it is out everywhere
    if (row.variant.name == "wrong" && row.problem.seq_lens[0] == 512) {
      row.verification = Verification::wrong_result;
    }
  }
  auto input = input_of(s, rows);
  input.variants[1].eligible = false;
  input.variants[2].baseline = true;
  const auto report = nsa::tuner::decide(input);
  CHECK(names(only_decision(report)) == "right ");
  CHECK(noted(report, "wrong_result: attend_selected/wrong (8 rows)"));
}

TEST_CASE("a variant whose time was not believed at one length is out of its class", "[decide]") {
  Session s;
  s.variants = {{"honest", linear(10)}, {"liar", linear(1)}};
  auto rows = measure(s);
  const auto decided = [&](const std::string& reason) {
    auto told = rows;
    Measurement lie = rows.back();
    lie.variant = id("liar");
    lie.source_hash = "hash_liar";
    lie.problem.seq_lens = {1000};
    lie.samples.clear();
    lie.outcome = Outcome::bad_reply;
    lie.reason = reason;
    told.push_back(lie);
    return names(only_decision(nsa::tuner::decide(input_of(s, told))));
  };
  CHECK(decided("not believed: 1 ns is less than any memory or arithmetic unit needs") ==
        "honest ");
  CHECK(decided("not a document: rubbish") == "liar ");
}

TEST_CASE("many variants that are left out for one reason are one line", "[decide]") {
  Session s;
  s.variants = {{"right", linear(10)}};
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) s.variants.push_back({name, linear(20)});
  auto rows = measure(s);
  for (auto& row : rows) {
    if (row.variant.name != "right") row.outcome = Outcome::noisy;
  }
  const auto report = nsa::tuner::decide(input_of(s, rows));
  CHECK(noted(report,
              "noisy: 384 rows of 6 variants, most of attend_selected/a (64 rows), "
              "attend_selected/b (64 rows), attend_selected/c (64 rows)"));
  CHECK_FALSE(noted(report, "attend_selected/f"));
}

TEST_CASE("a rival that was only disturbed loses to nobody: its length decides nothing",
          "[decide]") {
  const auto decided = [](double rival, std::int64_t disturbed) {
    Session s;
    s.variants = {{"known", linear(10)}, {"rival", linear(rival)}};
    auto rows = measure(s);
    for (auto& row : rows) {
      if (row.variant.name == "rival" && row.problem.seq_lens[0] == disturbed)
        row.outcome = Outcome::noisy;
    }
    return nsa::tuner::decide(input_of(s, rows));
  };
  const auto faster = decided(5, 16384);
  CHECK(names(only_decision(faster)) == "rival ");
  CHECK(noted(faster, "1 measured problem decides nothing"));
  CHECK(noted(faster, "attend_selected/rival at 16384"));
  // slower than noise makes a launch
  const auto slower = decided(20, 16384);
  CHECK(names(only_decision(slower)) == "known ");
  CHECK_FALSE(noted(slower, "decides nothing"));
}

TEST_CASE("unverified rows count only when asked for, and the evidence says so", "[decide]") {
  Session s;
  s.variants = {{"checked", linear(10)}, {"unchecked", linear(5)}};
  auto rows = measure(s);
  for (auto& row : rows) {
    if (row.variant.name == "unchecked") row.verification = Verification::unverified;
  }
  auto input = input_of(s, rows);
  const auto strict = nsa::tuner::decide(input);
  CHECK(names(only_decision(strict)) == "checked ");
  CHECK_FALSE(only_decision(strict).ranges[0].evidence.unverified);
  CHECK(noted(strict, "unverified: attend_selected/unchecked"));
  input.options.unverified = true;
  const auto loose = nsa::tuner::decide(input);
  CHECK(names(only_decision(loose)) == "unchecked ");
  CHECK(only_decision(loose).ranges[0].evidence.unverified);
}

namespace {

/// Lengths where the variant crashed.
nsa::tuner::DecideInput failing(const Session& s, const std::string& name, std::int64_t from,
                                std::int64_t before) {
  auto rows = measure(s);
  for (Measurement& row : rows) {
    const std::int64_t length = row.problem.max_seq_len();
    if (row.variant.name != name || length < from || length >= before) continue;
    row.outcome = nsa::Outcome::crashed;
    row.samples.clear();
    row.samples_n = 0;
  }
  return input_of(s, std::move(rows));
}

std::string ranges_text(const nsa::tuner::DecideInput& input) {
  std::string text;
  const nsa::ThresholdTable table = nsa::tuner::decide(input).table;
  for (const auto& range : table.classes.at(0).decisions.at(0).ranges)
    text += std::to_string(range.from) + " " + range.variant.name + ", ";
  return text;
}

}  // namespace

TEST_CASE("where a variant stops running, those that run on both sides fill the gap", "[decide]") {
  Session s;
  const auto straight = [](double n) { return 2e4 + 50 * n; };
  const auto steep = [=](double n) { return straight(n) * std::pow(n / 1000, -0.5); };
  const auto small = [=](double n) { return 0.6 * std::min(straight(n), steep(n)); };
  s.lengths = {256, 1024, 4096};
  s.variants = {{"straight", straight}, {"steep", steep}, {"small", small}};
  // The two that are left are even at 1,000.
  CHECK(ranges_text(failing(s, "small", 1000, 1 << 20)) == "128 small, 257 straight, 1001 steep, ");
  // The same from the other side: it begins to run at 1,024.
  CHECK(ranges_text(failing(s, "small", 0, 1000)) == "128 straight, 1001 steep, 1024 small, ");
  // Nobody but the one that takes over runs on both sides.
  s.variants = {{"steep", steep}, {"small", small}};
  CHECK(ranges_text(failing(s, "small", 1000, 1 << 20)) == "128 small, 512 steep, ");
}

TEST_CASE("a variant that fails at a length is not chosen there", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"fast", linear(5)}};
  auto rows = measure(s);
  for (auto& row : rows) {
    if (row.variant.name != "fast" || row.problem.seq_lens[0] < 8192) continue;
    row.outcome = Outcome::out_of_memory;
    row.samples.clear();
  }
  const nsa::Decision d = only_decision(nsa::tuner::decide(input_of(s, rows)));
  REQUIRE(names(d) == "fast a ");
  CHECK(d.ranges[1].from == 4097);  // nothing is known to fit above 4096
}

TEST_CASE("one crash among good rows forbids the length, one noisy row does not", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"fast", linear(5)}};
  const auto with_first = [&](Outcome outcome) {
    auto rows = measure(s);
    for (auto& row : rows) {
      if (row.variant.name != "fast" || row.problem.seq_lens[0] != 16384) continue;
      row.outcome = outcome;
      row.samples.clear();
      break;
    }
    return names(only_decision(nsa::tuner::decide(input_of(s, rows))));
  };
  CHECK(with_first(Outcome::crashed) == "fast a ");
  CHECK(with_first(Outcome::noisy) == "fast ");
}

TEST_CASE("lengths that only some variants were measured at are decided too", "[decide]") {
  Session s = two_variants();
  auto rows = measure(s);
  std::erase_if(rows, [](const Measurement& row) {
    const auto n = row.problem.seq_lens[0];
    return (row.variant.name == "a" && n >= 8192) || (row.variant.name == "b" && n <= 128);
  });
  const nsa::Decision d = only_decision(nsa::tuner::decide(input_of(s, rows)));
  CHECK(names(d) == "a b ");
  CHECK(d.ranges.front().from == 64);
  CHECK(d.ranges.back().to == 32768);
}

TEST_CASE("one length, one variant and one round each give a decision", "[decide]") {
  Session s = two_variants();
  SECTION("one length") {
    s.lengths = {4096};
    CHECK(names(only_decision(decide(s))) == "b ");
  }
  SECTION("one variant: no runner-up, no ratio") {
    s.variants.resize(1);
    const nsa::Decision d = only_decision(decide(s));
    CHECK(names(d) == "a ");
    CHECK_FALSE(d.ranges[0].evidence.runner_up.has_value());
    CHECK_FALSE(d.ranges[0].evidence.median_ratio.has_value());
    CHECK(d.ranges[0].evidence.expected_regret == 0);
  }
  SECTION("one round: decided, but without an interval") {
    s.processes = s.rounds = 1;
    const auto report = decide(s);
    CHECK(names(only_decision(report)) == "a b ");
    CHECK_FALSE(only_decision(report).ranges[0].evidence.ratio_low.has_value());
    CHECK(noted(report, "one round only"));
  }
}

TEST_CASE("no rows give an empty table and say so", "[decide]") {
  const auto report = nsa::tuner::decide(nsa::tuner::DecideInput{});
  CHECK(report.table.classes.empty());
  REQUIRE(report.notes.size() == 1);
  CHECK(noted(report, "nothing could be decided"));
}

TEST_CASE("rows of another executor decide nothing", "[decide]") {
  Session s = two_variants();
  auto rows = measure(s);
  for (auto& row : rows) row.executor = "triton_demo";
  auto input = input_of(s, rows);
  CHECK(nsa::tuner::decide(input).table.classes.empty());
  input.options.executor = "triton_demo";
  const auto report = nsa::tuner::decide(input);
  CHECK(report.table.executor == "triton_demo");
  CHECK(names(only_decision(report)) == "a b ");
}

TEST_CASE("the order of the rows changes nothing", "[decide]") {
  Session s = two_variants();
  s.noise = white(0.01, 9);
  auto rows = measure(s);
  const auto forward = nsa::tuner::decide(input_of(s, rows));
  std::reverse(rows.begin(), rows.end());
  const auto backward = nsa::tuner::decide(input_of(s, rows));
  CHECK(forward.table == backward.table);
  CHECK(forward.notes == backward.notes);
}

TEST_CASE("problems of different classes and stages are decided apart", "[decide]") {
  Session s = two_variants();
  auto rows = measure(s);
  auto other = rows;
  for (auto& row : other) row.problem.dtype = nsa::Dtype::bf16;
  auto third = rows;
  for (auto& row : third) row.variant.stages = {"ranges"};
  rows.insert(rows.end(), other.begin(), other.end());
  rows.insert(rows.end(), third.begin(), third.end());
  const auto report = nsa::tuner::decide(input_of(s, rows));
  REQUIRE(report.table.classes.size() == 2);
  REQUIRE(report.table.classes[0].decisions.size() == 2);
  CHECK(report.table.classes[0].decisions[0].stages[0] == "ranges");  // in the order of stages
  CHECK(report.table.classes[1].problem_class.dtype == nsa::Dtype::bf16);
}

TEST_CASE("rows with another cache policy do not mix with the rest", "[decide]") {
  Session s = two_variants();
  auto rows = measure(s);
  auto warm = rows;
  std::erase_if(warm, [](const Measurement& row) { return row.round > 0; });
  for (auto& row : warm) {
    row.cold = false;
    for (auto& sample : row.samples) sample.device_ns = row.variant.name == "a" ? 10 : 1000;
  }
  rows.insert(rows.end(), warm.begin(), warm.end());
  const auto report = nsa::tuner::decide(input_of(s, rows));
  CHECK(names(only_decision(report)) == "a b ");
  CHECK(noted(report, "rows with another launch, timer or cache policy left out"));
}

TEST_CASE("problems that share a length of the axis are judged together", "[decide]") {
  Session s;  // beyond the window every length has rows of 512 keys
  s.stage = "attend_window";
  s.variants = {{"sdpa", linear(10)},
                {"fa2_dense", [](double n) { return n > 4096 ? 1e9 : 0.9 * linear(10)(n); }}};
  const nsa::Decision d = only_decision(decide(s));
  CHECK(d.axis == nsa::Axis::row_len);
  REQUIRE(names(d) == "fa2_dense sdpa ");
  CHECK(d.ranges[1].from > 256);
  CHECK(d.ranges[1].from <= 512);
}

TEST_CASE("a backward pass over a window is decided by the length of the sequence", "[decide]") {
  Session s;
  s.stage = "attend_window";
  s.variants = {{"sdpa", linear(10)}, {"fa2_dense", crossing_at(2000, 0.2, linear(10))}};
  auto rows = measure(s);
  for (auto& row : rows) row.problem.direction = nsa::Direction::backward;
  const nsa::Decision d = only_decision(nsa::tuner::decide(input_of(s, rows)));
  CHECK(d.axis == nsa::Axis::seq_len);
  REQUIRE(names(d) == "sdpa fa2_dense ");
  CHECK(d.ranges[1].from > 1024);
  CHECK(d.ranges[1].from < 4096);
}

TEST_CASE("a workload moves the choice to the lengths that are used", "[decide]") {
  Session s = two_variants();
  auto input = input_of(s, measure(s));
  input.options.workload = {{200, 10.0}, {130, 5.0}, {4096, 900, nsa::Phase::decode}};
  CHECK(names(only_decision(nsa::tuner::decide(input))) == "a ");
}

TEST_CASE("with a margin a challenger must be that many times faster", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", crossing_at(128, 0.05, linear(10))}};
  auto input = input_of(s, measure(s));
  nsa::ThresholdTable shipped = nsa::tuner::decide(input).table;
  shipped.classes[0].decisions[0].ranges.resize(1);
  shipped.classes[0].decisions[0].ranges[0] = range(0, {}, id("a"));
  input.shipped = shipped;
  input.options.margin = 1.2;  // reached at 128 * 2^3.65 = 1602
  const nsa::Decision d = only_decision(nsa::tuner::decide(input));
  REQUIRE(names(d) == "a b ");
  CHECK(d.ranges[1].from >= 1580);
  CHECK(d.ranges[1].from <= 1630);
}

TEST_CASE("a runner-up is one of a contest that was finished", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(13)}, {"c", linear(11)}};
  s.noise = white(0.003, 5);
  std::vector<nsa::Measurement> rows = measure(s);
  std::erase_if(rows, [](const nsa::Measurement& row) {  // as a sweep that was stopped leaves it
    return row.variant.name == "c" && (row.process > 0 || row.round > 0);
  });
  const nsa::Decision d = only_decision(nsa::tuner::decide(input_of(s, rows)));
  REQUIRE(names(d) == "a ");
  CHECK(d.ranges[0].evidence.runner_up == "attend_selected/b");
}
