#include <map>

#include <set>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::tuner;
using nsa::test::contains;

namespace {

SweepSpec spec_of(std::vector<std::pair<std::string, std::vector<std::string>>> axes) {
  SweepSpec spec;
  spec.families = {{"f", {}, std::move(axes), {}, {}, {}}};
  return spec;
}

Candidate candidate(const std::string& stage, const std::string& name, Point point = {}) {
  return {{{stage}, name, std::move(point)}, "hash", "nsatune", 0};
}

/// Supports all but "small_only" above 512 tokens; cost grows with the square of the length.
Description describe(void* calls, const Problem& problem, const Candidate& candidate) {
  ++(*static_cast<std::map<std::string, int>*>(calls))[to_string(candidate.id)];
  Description description;
  description.supported = candidate.id.name != "small_only" || problem.max_seq_len() <= 512;
  description.reason = description.supported ? "" : "more than 512 tokens";
  description.flop = static_cast<double>(problem.max_seq_len() * problem.max_seq_len()) * 1e3;
  description.bytes = 1e3;
  return description;
}

Plan plan_of(const SweepSpec& spec, const std::vector<Candidate>& candidates) {
  std::map<std::string, int> calls;
  return make_plan(spec, Device{}, candidates, &describe, &calls);
}

std::string message_of(const SweepSpec& spec) {
  try {
    expand(spec);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("axes give all combinations, the last one fastest", "[tuner]") {
  const auto problems = expand(spec_of({{"dtype", {"fp32", "bf16"}}, {"seq_len", {"64", "128"}}}));
  REQUIRE(problems.size() == 4);
  CHECK(problems[0].dtype == Dtype::fp32);
  CHECK(problems[1].seq_lens == std::vector<std::int64_t>{128});
  CHECK(problems[2].dtype == Dtype::bf16);
  CHECK(problems[2].seq_lens == std::vector<std::int64_t>{64});
}

TEST_CASE("a batch repeats the first sequence, in whichever order the axes stand", "[tuner]") {
  const auto a = expand(spec_of({{"batch", {"3"}}, {"seq_len", {"64"}}}));
  const auto b = expand(spec_of({{"seq_len", {"64"}}, {"batch", {"3"}}}));
  CHECK(a == b);
  CHECK(a.at(0).seq_lens == std::vector<std::int64_t>{64, 64, 64});
  CHECK(a.at(0).context_lens == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("overlap and pattern are set as an axis", "[tuner]") {
  const auto problems = expand(spec_of({{"pattern", {"smooth"}}, {"overlap", {"0.95", "null"}}}));
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].selection.pattern == SelectionPattern::smooth);
  CHECK(problems[0].selection.overlap == 0.95);
  CHECK_FALSE(problems[1].selection.overlap.has_value());
}

TEST_CASE("a wrong axis, value or problem is refused with the place in the spec", "[tuner]") {
  CHECK(contains(message_of(spec_of({{"color", {"red"}}})), "/families/0/axes/color/0"));
  CHECK(contains(message_of(spec_of({{"color", {"red"}}})), "unknown"));
  CHECK(contains(message_of(spec_of({{"seq_len", {"64", "many"}}})), "/families/0/axes/seq_len/1"));
  CHECK(contains(message_of(spec_of({{"seq_len", {"64", "many"}}})), "an integer"));
  CHECK(contains(message_of(spec_of({{"q_heads", {"13"}}})), "/families/0"));
  CHECK(contains(message_of(spec_of({{"q_heads", {"13"}}})), "/q_heads"));
  CHECK(contains(message_of(spec_of({{"seq_len", {}}})), "no values"));
  const std::vector<std::string> many(400, "64");
  CHECK(contains(message_of(spec_of({{"seq_len", many}, {"window", many}})),
                 "more than 100000 problems"));
}

TEST_CASE("variants of the same stages on the same problem are one contest", "[tuner]") {
  const auto plan = plan_of(spec_of({{"seq_len", {"64", "128"}}}),
                            {candidate("ranges", "ranges_v1"), candidate("ranges", "ranges_v2"),
                             candidate("attend_window", "sdpa_math")});
  REQUIRE(plan.contests.size() == 4);
  for (const Contest& contest : plan.contests) {
    CHECK(contest.variants.size() == (contest.stages.front() == "ranges" ? 2 : 1));
    CHECK(contest.described.size() == contest.variants.size());
    for (const Candidate& o : contest.variants) CHECK(o.id.stages == contest.stages);
  }
}

TEST_CASE("what a worker does not support is skipped with its reason, and not a contest",
          "[tuner]") {
  const auto plan =
      plan_of(spec_of({{"seq_len", {"512", "1024"}}}), {candidate("ranges", "small_only")});
  REQUIRE(plan.contests.size() == 1);
  REQUIRE(plan.skipped.size() == 1);
  CHECK(plan.skipped[0].problem.max_seq_len() == 1024);
  CHECK(plan.skipped[0].outcome == Outcome::unsupported);
  CHECK(plan.skipped[0].reason == "more than 512 tokens");
}

TEST_CASE("contests come cheapest first and the estimates add up", "[tuner]") {
  const auto plan =
      plan_of(spec_of({{"seq_len", {"8192", "64", "2048"}}}), {candidate("ranges", "x")});
  REQUIRE(plan.contests.size() == 3);
  CHECK(plan.contests[0].problem.max_seq_len() == 64);
  CHECK(plan.contests[2].problem.max_seq_len() == 8192);
  double sum = 0;
  for (const Contest& contest : plan.contests) sum += contest.estimated_s;
  CHECK(plan.estimated_s == Approx(sum));
  CHECK(sum > 0);
}

TEST_CASE("contests over the spec's limit are left out of the plan and its time", "[tuner]") {
  SweepSpec spec = spec_of({{"seq_len", {"8192", "64", "2048"}}});
  const auto all = plan_of(spec, {candidate("ranges", "x")});
  REQUIRE(all.contests.size() == 3);
  CHECK(all.left_out.empty());
  spec.contest_limit_s = all.contests[1].estimated_s;
  const auto plan = plan_of(spec, {candidate("ranges", "x")});
  REQUIRE(plan.contests.size() == 2);
  REQUIRE(plan.left_out.size() == 1);
  CHECK(plan.left_out[0].problem.max_seq_len() == 8192);
  CHECK(plan.left_out[0].variants.size() == 1);
  REQUIRE(plan.skipped.size() == 1);  // of which the sweep makes a row
  CHECK(plan.skipped[0].outcome == Outcome::unsupported);
  CHECK(plan.skipped[0].problem.max_seq_len() == 8192);
  CHECK(plan.skipped[0].reason.starts_with("contest left out: estimated at "));
  CHECK(contains(plan.skipped[0].reason, " s here, and contest_limit_s is "));
  CHECK(plan.estimated_s == Approx(plan.contests[0].estimated_s + plan.contests[1].estimated_s));
}

TEST_CASE(
    "describe is asked once per problem and candidate, also when two families share a problem",
    "[tuner]") {
  SweepSpec spec = spec_of({{"seq_len", {"64", "128"}}});
  spec.families.push_back(spec.families.front());
  spec.families.back().name = "again";
  std::map<std::string, int> calls;
  const auto plan = make_plan(spec, Device{}, {candidate("ranges", "x")}, &describe, &calls);
  CHECK(calls.at("ranges/x") == 2);
  CHECK(plan.contests.size() == 2);
}

TEST_CASE("stages and variant globs of spec and family both have to match", "[tuner]") {
  SweepSpec spec = spec_of({});
  spec.variants = {"fa2_*", "masked"};
  spec.families[0].stages = {"attend_*"};
  const auto plan =
      plan_of(spec, {candidate("attend_window", "fa2_dense"), candidate("attend_window", "x"),
                     candidate("ranges", "fa2_dense"), candidate("attend_selected", "masked")});
  CHECK(plan.contests.size() == 2);
}

TEST_CASE("a glob may name a point or a whole id", "[tuner]") {
  const VariantId id{{"attend_selected"}, "fused_query", {{"bq", 64}}};
  CHECK(matches_any({"fused_query"}, id));
  CHECK(matches_any({"fused_query.bq=64"}, id));
  CHECK(matches_any({"fused_query.bq64"}, id));
  CHECK(matches_any({"attend_selected/fused_query.bq6?"}, id));
  CHECK(matches_any({"attend_selected/*"}, id));
  CHECK(matches_any({}, id));
  CHECK_FALSE(matches_any({"fused_query.bq=32", "fused_query.bq32", "attend_window/*"}, id));
}

TEST_CASE("the job key changes with every field that makes another measurement", "[tuner]") {
  const Problem problem;
  const Candidate base = candidate("ranges", "ranges_v1");
  const MeasurePolicy policy;
  std::set<std::string> keys;
  const auto add = [&](const Problem& p, const Candidate& o, const MeasurePolicy& m, Timer timer,
                       std::int64_t process, std::int64_t round, std::int64_t position,
                       bool control) {
    const std::size_t before = keys.size();
    keys.insert(job_key(job_subject(p, o, m, timer), process, round, position, control));
    CHECK(keys.size() == before + 1);
  };
  add(problem, base, policy, Timer::host, 0, 0, 0, false);
  add(problem, base, policy, Timer::events, 0, 0, 0, false);
  add(problem, base, policy, Timer::host, 1, 0, 0, false);
  add(problem, base, policy, Timer::host, 0, 1, 0, false);
  add(problem, base, policy, Timer::host, 0, 0, 1, false);
  add(problem, base, policy, Timer::host, 0, 0, 0, true);

  std::vector<Problem> problems(20);
  problems[0].direction = Direction::backward;
  problems[1].phase = Phase::chunked_prefill;
  problems[2].seq_lens = {2049};
  problems[3].context_lens = {1};
  problems[4].q_heads = 14;
  problems[5].kv_heads = 4;
  problems[6].head_dim_k = 32;
  problems[7].head_dim_v = 32;
  problems[8].geometry.cmp_block = 64;
  problems[9].geometry.cmp_stride = 32;
  problems[10].geometry.sel_block = 128;
  problems[11].geometry.sel_count = 8;
  problems[12].geometry.window = 256;
  problems[13].dtype = Dtype::bf16;
  problems[14].selection.pattern = SelectionPattern::smooth;
  problems[15].selection.overlap = 0.5;
  problems[16].model.model_dim = 768;
  problems[17].model.layers = 2;
  problems[18].model.vocab_size = 256;
  problems[19].seq_lens = {2048, 2048};
  for (const Problem& p : problems) add(p, base, policy, Timer::host, 0, 0, 0, false);

  Candidate other = base;
  other.executor = "triton";
  add(problem, other, policy, Timer::host, 0, 0, 0, false);
  other = base;
  other.source_hash = "changed";
  add(problem, other, policy, Timer::host, 0, 0, 0, false);
  other = base;
  other.id.point = {{"bq", 64}};
  add(problem, other, policy, Timer::host, 0, 0, 0, false);

  std::vector<MeasurePolicy> policies(14);
  policies[0].samples = 6;
  policies[1].processes = 3;
  policies[2].min_rounds = 1;
  policies[3].max_rounds = 9;
  policies[4].epsilon = 0.1;
  policies[5].control = false;
  policies[6].cold = false;
  policies[7].launch = LaunchMode::graph;
  policies[8].verify_rows = 1;
  policies[9].deadline_s = 31;
  policies[10].visit_target_s = 1;
  policies[11].give_up_ratio = 2;
  policies[12].noise_gate = false;
  policies[13].race = true;
  for (const MeasurePolicy& p : policies) add(problem, base, p, Timer::host, 0, 0, 0, false);
  CHECK_FALSE(keys.contains(failure_key(problem, base, policy, Timer::host)));
}

TEST_CASE("the plan of a small spec is this one", "[tuner]") {
  SweepSpec spec = spec_of({{"seq_len", {"128", "64"}}});
  std::string text;
  for (const Contest& contest :
       plan_of(spec, {candidate("ranges", "b"), candidate("ranges", "a", {{"bq", 8}})}).contests) {
    text += contest.id + ":";
    for (const Candidate& o : contest.variants) text += " " + to_string(o.id);
    text += "\n";
  }
  // Ids are hashes of the problems: one that changes makes every stored measurement a stranger.
  CHECK(text ==
        "0a1711107e963953: ranges/b ranges/a.bq=8\n"
        "81f7bd18f56377be: ranges/b ranges/a.bq=8\n");
}

TEST_CASE("a preset covers what a foreign worker brings, whatever its stages", "[tuner]") {
  SweepSpec spec;
  spec.families = {
      {"selected", {}, {{"seq_len", {"64", "128"}}}, {"attend_selected"}, {"fused*"}, {}},
      {"window", {}, {{"seq_len", {"256"}}}, {"attend_window"}, {"fa2_*"}, {}}};
  const auto theirs = [](const std::string& stage) {
    return Candidate{{{stage}, "mine", {}}, "hash", "triton", 1};
  };
  const auto lengths_of = [&](const SweepSpec& of, const Candidate& candidate) {
    std::set<std::int64_t> lengths;
    for (const Contest& contest : plan_of(of, {candidate}).contests)
      lengths.insert(contest.problem.max_seq_len());
    return lengths;
  };
  using Lengths = std::set<std::int64_t>;
  // Ours goes by the family's names; theirs does not.
  CHECK(lengths_of(spec, candidate("attend_selected", "mine")) == Lengths{});
  CHECK(lengths_of(spec, theirs("attend_selected")) == Lengths{64, 128});
  CHECK(lengths_of(spec, theirs("attend_window")) == Lengths{256});
  // A stage that no family names: all problems. One of ours stays out.
  CHECK(lengths_of(spec, theirs("my_stage")) == Lengths{64, 128, 256});
  CHECK(lengths_of(spec, candidate("score", "fused")) == Lengths{});
  // What the user asks for holds for all.
  const NarrowOptions stage{{"my_stage"}, {}, {}, true}, variant{{}, {"fa2_x"}, {}, true};
  CHECK(lengths_of(narrow(spec, stage), theirs("my_stage")) == Lengths{64, 128, 256});
  CHECK(lengths_of(narrow(spec, stage), theirs("attend_window")) == Lengths{});
  CHECK(lengths_of(narrow(spec, variant), theirs("my_stage")) == Lengths{});
}

TEST_CASE("a family may be launched as a graph, in contests of its own, where there are graphs",
          "[tuner]") {
  SweepSpec spec = spec_of({{"seq_len", {"64"}}});
  spec.families.push_back(spec.families.front());
  spec.families[1].name = "graphs";
  spec.families[1].launch = LaunchMode::graph;
  std::map<std::string, int> calls;
  const std::vector<Candidate> candidates{candidate("ranges", "a")};
  Device device;
  device.backend = Backend::cuda;
  const Plan on_gpu = make_plan(spec, device, candidates, &describe, &calls);
  REQUIRE(on_gpu.contests.size() == 2);
  CHECK(on_gpu.contests[0].problem == on_gpu.contests[1].problem);
  CHECK(on_gpu.contests[0].launch == LaunchMode::eager);
  CHECK(on_gpu.contests[1].launch == LaunchMode::graph);
  CHECK(on_gpu.contests[0].id != on_gpu.contests[1].id);
  CHECK(with_launch(spec.policy, LaunchMode::graph).launch == LaunchMode::graph);

  device.backend = Backend::cpu;
  const Plan on_cpu = make_plan(spec, device, candidates, &describe, &calls);
  CHECK(on_cpu.contests.size() == 1);
  REQUIRE(on_cpu.skipped.size() == 1);
  CHECK(on_cpu.skipped[0].launch == LaunchMode::graph);
  CHECK(contains(on_cpu.skipped[0].reason, "graphs"));
}
