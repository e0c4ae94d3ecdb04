// Evidence over nights: it adds up, until something changes; a part of a sweep changes a part.
#include "catch.hpp"
#include "decide_support.hpp"

using namespace sim;

namespace {

/// One night's rows of a and b; b is that many times as fast as a.
std::vector<Measurement> night(int number, double faster, double sigma) {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", [=](double n) { return linear(10)(n) / faster; }}};
  s.lengths = {512, 1024, 2048};
  s.run_id = "night" + std::to_string(number);
  s.noise = white(sigma, static_cast<std::uint64_t>(number));
  auto rows = measure(s, static_cast<std::uint64_t>(number));
  for (Measurement& row : rows) row.measured_at = "2026-01-0" + std::to_string(number);
  return rows;
}

nsa::tuner::DecideReport decide_nights(std::vector<std::vector<Measurement>> nights) {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(10)}};
  std::vector<Measurement> rows;
  for (auto& one : nights) rows.insert(rows.end(), one.begin(), one.end());
  return nsa::tuner::decide(input_of(s, rows));
}

const nsa::Evidence& evidence_of(const nsa::tuner::DecideReport& report) {
  return report.table.classes.at(0).decisions.at(0).ranges.at(0).evidence;
}

double width(const nsa::Evidence& e) { return std::log(*e.ratio_high / *e.ratio_low); }

}  // namespace

TEST_CASE("nights that agree add up to a narrower interval", "[decide]") {
  const auto one = decide_nights({night(1, 1.1, 0.01)});
  const auto three = decide_nights({night(1, 1.1, 0.01), night(2, 1.1, 0.01), night(3, 1.1, 0.01)});
  CHECK(evidence_of(three).pairs == 3 * evidence_of(one).pairs);
  CHECK(evidence_of(three).run_ids.size() == 3);
  CHECK(width(evidence_of(three)) < 0.75 * width(evidence_of(one)));
}

TEST_CASE("nights before a change are left out", "[decide]") {
  const auto report = decide_nights(
      {night(1, 1.1, 0.002), night(2, 1.1, 0.002), night(3, 1.05, 0.002), night(4, 1.05, 0.002)});
  const std::vector<std::string> newest{"night3", "night4"};
  CHECK(evidence_of(report).run_ids == newest);
  CHECK(*evidence_of(report).median_ratio == Approx(1 / 1.05).epsilon(0.003));
  bool said = false;
  for (const auto& note : report.notes) said = said || note.find("times have changed") != note.npos;
  CHECK(said);
}

TEST_CASE("rows of older code are no evidence", "[decide]") {
  auto before = night(1, 1.2, 0.002), now = night(2, 1.05, 0.002);
  for (Measurement& row : before) row.source_hash += "_old";
  const auto report = decide_nights({before, now});
  CHECK(evidence_of(report).run_ids == std::vector<std::string>{"night2"});
}

TEST_CASE("what was not measured tonight keeps its shipped decision", "[decide]") {
  Session s;
  s.variants = {{"a", linear(10)}, {"b", linear(5)}};
  auto input = input_of(s, measure(s));
  nsa::ThresholdTable shipped = nsa::tuner::decide(input).table;
  nsa::ClassDecisions other = shipped.classes[0];
  other.problem_class.dtype = nsa::Dtype::bf16;
  nsa::Decision stage = shipped.classes[0].decisions[0];
  stage.stages = {"ranges"};
  for (auto& range : stage.ranges) range.variant.stages = stage.stages;
  shipped.classes[0].decisions.push_back(stage);
  shipped.classes.insert(shipped.classes.begin(), other);
  input.shipped = shipped;
  const auto report = nsa::tuner::decide(input);
  REQUIRE(report.table.classes.size() == 2);
  CHECK(report.table.classes[0].problem_class.dtype == nsa::Dtype::bf16);  // in the file's order
  CHECK(report.table.classes[1].decisions.size() == 2);
  CHECK(report.notes.back().find("2 shipped decisions") != std::string::npos);
}

TEST_CASE("a variant that was measured alone joins those of another night", "[decide]") {
  auto before = night(1, 1.5, 0.005);
  std::erase_if(before, [](const Measurement& row) { return row.variant.name == "b"; });
  auto now = night(2, 1.5, 0.005);
  std::erase_if(now, [](const Measurement& row) { return row.variant.name == "a"; });
  const auto report = decide_nights({before, now});
  CHECK(report.table.classes.at(0).decisions.at(0).ranges.at(0).variant.name == "b");
  CHECK(*evidence_of(report).median_ratio == Approx(1 / 1.5).epsilon(0.01));
}

TEST_CASE("a loud night takes nothing from what a quiet one has shown", "[decide]") {
  const auto quiet = decide_nights({night(1, 1.03, 0.002)});
  const auto both = decide_nights({night(1, 1.03, 0.002), night(2, 1.03, 0.3)});
  CHECK(evidence_of(both).run_ids == std::vector<std::string>{"night1"});
  CHECK(width(evidence_of(both)) < 1.01 * width(evidence_of(quiet)));
  CHECK(both.undecided == 0);
}

TEST_CASE("a loud night counts where nobody else measured", "[decide]") {
  auto quiet = night(1, 1.5, 0.002);
  std::erase_if(quiet, [](const Measurement& row) { return row.problem.seq_lens[0] > 1024; });
  const auto report = decide_nights({quiet, night(2, 1.5, 0.02)});
  const std::vector<std::string> both{"night1", "night2"};
  CHECK(evidence_of(report).run_ids == both);
  CHECK(evidence_of(report).measured_to == 2048);
}

TEST_CASE("boards of one model are no nights of one another", "[decide]") {
  const auto on = [](int number, double faster, const std::string& board) {
    auto rows = night(number, faster, 0.002);
    for (Measurement& row : rows) row.placement = {{"host", board}};
    return rows;
  };
  const std::vector<std::string> all{"night1", "night2", "night3"};
  const auto mixed = decide_nights({on(1, 1.1, "a"), on(2, 1.1, "b"), on(3, 1.3, "c")});
  CHECK(evidence_of(mixed).run_ids == all);
  const auto other_order = decide_nights({on(3, 1.1, "a"), on(2, 1.1, "b"), on(1, 1.3, "c")});
  CHECK(*evidence_of(other_order).median_ratio ==
        Approx(*evidence_of(mixed).median_ratio).epsilon(0.005));
  const auto changed = decide_nights({on(1, 1.1, "a"), on(2, 1.1, "b"), on(3, 1.3, "a")});
  const std::vector<std::string> newest{"night2", "night3"};
  CHECK(evidence_of(changed).run_ids == newest);
}
