// Which lengths a sweep adds: first where held-out lengths lose, then where choices cross.
#include "nsa/tuner/refine.hpp"

#include <algorithm>

#include "catch.hpp"
#include "decide_support.hpp"

using namespace nsa;

namespace {

using Lengths = std::vector<std::int64_t>;

SweepSpec spec_of(const Lengths& lengths) {
  SweepSpec spec;
  ProblemFamily family;
  family.base = sim::problem_at(lengths.front());
  family.axes = {{"seq_len", {}}};
  for (const std::int64_t length : lengths) family.axes[0].second.push_back(std::to_string(length));
  family.stages = {"attend_selected"};
  spec.families = {family};
  return spec;
}

/// Rows of `lengths`, and held-out ones of `judges`.
tuner::DecideInput judged_by(sim::Session session, const Lengths& judges) {
  std::vector<Measurement> rows = sim::measure(session);
  session.lengths = judges;
  for (Measurement& row : sim::measure(session, 2)) {
    row.held_out = true;
    rows.push_back(std::move(row));
  }
  return sim::input_of(session, std::move(rows));
}

constexpr std::int64_t kLongest = 8001;  // of a spec; above it others are asked for without orders

Lengths lengths_of(const std::vector<tuner::Refinement>& refinements, bool held_out) {
  Lengths lengths;
  for (const tuner::Refinement& one : refinements)
    if (one.held_out == held_out && one.problem.max_seq_len() <= kLongest)
      lengths.push_back(one.problem.max_seq_len());
  std::ranges::sort(lengths);
  return lengths;
}

/// `wave` is a tenth faster from 1,300 to 3,000 tokens alone, and a tenth slower elsewhere.
sim::Session waves() {
  sim::Session session;
  session.variants = {
      {"fused_query", sim::linear(1)},
      {"gather", [](double n) { return sim::linear(1)(n) * (n > 1300 && n < 3000 ? 0.9 : 1.1); }}};
  session.lengths = {500, 1001, 4001, 8001};
  session.noise = sim::white(0.001, 3);
  return session;
}

}  // namespace

TEST_CASE("a race that got no rows since it was asked is not asked again", "[refine]") {
  const sim::Session session = waves();
  const SweepSpec spec = spec_of(session.lengths);
  tuner::Refined refined;
  CHECK_FALSE(tuner::refine(judged_by(session, {701}), spec, refined).empty());
  CHECK(tuner::refine(judged_by(session, {701}), spec, refined).empty());
  const auto input = judged_by(session, {701, 2001});
  const auto more = tuner::refine(input, spec, refined), anew = tuner::refine(input, spec);
  CHECK_FALSE(more.empty());
  CHECK(lengths_of(more, false) == lengths_of(anew, false));
}

TEST_CASE("a held-out length that loses is surrounded before thresholds are looked for",
          "[refine]") {
  const sim::Session session = waves();
  const SweepSpec spec = spec_of(session.lengths);
  const auto more = tuner::refine(judged_by(session, {2001}), spec);
  CHECK(lengths_of(more, false) == Lengths{1415, 2829});
  CHECK(lengths_of(more, true).size() == 1);  // another judge, where the lengths are farthest apart
  for (const tuner::Refinement& one : more) CHECK(one.variants.size() == 2);

  SECTION("until what is chosen beside it is right there") {
    sim::Session closer = session;
    closer.lengths = {500, 1001, 1415, 2829, 4001, 8001};
    const auto next = tuner::refine(judged_by(closer, {2001}), spec);
    CHECK(lengths_of(next, false) == Lengths{1190, 3364});  // the two boundaries
    CHECK(lengths_of(next, true).empty());
  }
}

TEST_CASE("a length at which another variant leads, but not surely, gets lengths beside it",
          "[refine]") {
  sim::Session session;
  session.variants = {
      {"fused_query", sim::linear(1)},
      {"gather", [](double n) { return sim::linear(1)(n) * (n == 2001 ? 1 : 1.2); }}};
  session.lengths = {501, 1001, 2001, 4001, 8001};
  session.noise = [calm = sim::white(0.001, 3)](std::size_t l, std::size_t i,
                                                std::size_t v) mutable {
    constexpr std::size_t kOfOneProcess = 16;  // one says far more than the other
    const double gather = i < kOfOneProcess ? 0.92 : 0.985;
    return calm(l, i, v) * (l == 2 && v == 1 ? gather : 1);
  };
  const auto decided = tuner::decide(sim::input_of(session, sim::measure(session)));
  REQUIRE(decided.table.classes.at(0).decisions.at(0).ranges.size() == 1);
  auto judges = session;
  judges.noise = sim::white(0.001, 4);
  std::vector<Measurement> rows = sim::measure(session);
  judges.lengths = {701};
  for (Measurement& row : sim::measure(judges, 2)) {
    row.held_out = true;
    rows.push_back(std::move(row));
  }
  const auto more = tuner::refine(sim::input_of(session, rows), spec_of(session.lengths));
  CHECK(lengths_of(more, false) == Lengths{1415, 2829});
}

TEST_CASE("a held-out length that loses is left alone where the lengths beside it are near",
          "[refine]") {
  sim::Session session = waves();
  session.lengths = {500, 1001, 1290, 1390, 2829, 4001, 8001};
  const auto more = tuner::refine(judged_by(session, {1310}), spec_of(session.lengths));
  CHECK(lengths_of(more, false) == Lengths{});
  // All that there may be, each where lengths are the farthest apart.
  CHECK(lengths_of(more, true) == Lengths{707, 1983});

  SECTION("and nobody else is asked where all are") {
    session.lengths = {1000, 1160, 1290, 1480, 1700, 1960};
    const auto next = tuner::refine(judged_by(session, {1310}), spec_of(session.lengths));
    CHECK(lengths_of(next, true) == Lengths{});
  }
}

TEST_CASE("a held-out length that loses nothing is left alone", "[refine]") {
  const sim::Session session = waves();
  const auto more = tuner::refine(judged_by(session, {701}), spec_of(session.lengths));
  CHECK(lengths_of(more, false) == Lengths{});
  CHECK(lengths_of(more, true) == Lengths{});
}

TEST_CASE("a threshold is looked for as long as the wrong choice costs something", "[refine]") {
  sim::Session session;
  session.lengths = {500, 1001, 2001, 4001};
  session.noise = sim::white(0.0005, 3);
  const auto crossing = [&](double slope) {
    session.variants = {{"fused_query", sim::linear(1)},
                        {"gather", sim::crossing_at(1400, slope, sim::linear(1))}};
    return lengths_of(tuner::refine(judged_by(session, {701}), spec_of(session.lengths)), false);
  };
  CHECK(crossing(0.2) == Lengths{1415});
  CHECK(crossing(0.001).empty());  // .05 % at most
  session.lengths = {500, 1390, 1430, 4001};
  CHECK(crossing(0.05).empty());  // .1 % in a thirtieth of an octave
}

TEST_CASE("short lengths that leave a tile open do not speak for long ones", "[decide]") {
  const auto added = [](const Lengths& lengths) {
    sim::Session session;
    session.variants = {{"fused_query", sim::linear(1)}, {"gather", sim::linear(1.1)}};
    session.lengths = lengths;
    session.noise = sim::white(0.001, 3);
    const auto input = sim::input_of(session, sim::measure(session));
    Lengths found = lengths_of(tuner::refine(input, spec_of(lengths)), false);
    std::erase_if(found, [](std::int64_t length) { return length % 8 == 0; });
    return found;
  };
  const Lengths near = added({501, 1001, 2000, 4000, 8000});
  REQUIRE(near.size() == 1);
  CHECK(near[0] > 4000);
  CHECK(near[0] < 8000);
  CHECK(added({501, 1001, 2000, 7001, 8000}).empty());
  CHECK(added({501, 1001, 2000, 4000, near[0], 8000}).empty());
}
