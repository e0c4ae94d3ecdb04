// Reading an emitted file back: what the project then runs is what was decided among its paths.
#include <array>
#include <set>

#include "catch.hpp"
#include "decide/decision.hpp"
#include "decide/tables/classes.hpp"
#include "decide_support.hpp"
#include "emit/settle.hpp"
#include "nsa/tuner/emit.hpp"
#include "recorded_rows.hpp"

using namespace nsa;
using namespace nsa::tuner;
using sim::crossing_at;
using sim::Session;
using sim::Truth;

namespace {

const Project& vibe() { return find_project("nsa-vibe"); }

Device h200() {
  Device device;
  device.backend = Backend::cuda;
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  return device;
}

/// A problem of a class with so many new (or, in a decode step, cached) tokens.
Problem problem_at(const ProblemClass& of, std::int64_t length) {
  Problem p = tuner::problem_of(of);
  std::ranges::fill(of.phase == Phase::decode ? p.context_lens : p.seq_lens, length);
  return p;
}

/// What an env file makes the project run, by stage.
std::map<Stage, SwitchTarget> routed(const std::string& env, const Problem& p,
                                     const Device& device) {
  const EnvSnapshot snapshot = snapshot_environment(parse_env_file(env, "nsa.env"));
  CHECK(snapshot.warnings.empty());
  CHECK(snapshot.refused.empty());
  std::map<Stage, SwitchTarget> result;
  for (const ProjectRoute& route : vibe().route(snapshot, p, device))
    result[route.stage] = route.path;
  return result;
}

/// Powers of two, their neighbours, and what lies about one fifth of an octave apart.
std::set<std::int64_t> lengths() {
  std::set<std::int64_t> result;
  for (double at = 1; at < 300'000; at *= 1.15) result.insert(std::llround(at));
  for (std::int64_t at = 1; at < 300'000; at *= 2) result.insert({at, at + 1, at + 31});
  return result;
}

struct Emitted {
  Emission emission;
  Settlement settled;
  ProblemClass of;
  Device device;
};

std::optional<Emitted> emitted(const DecideInput& input, const ProblemClass& of) {
  const auto emission = emit_from_rows(vibe(), input, of);
  if (!emission) return std::nullopt;
  DecideInput own = only(vibe(), input);
  own.rows = own.rows.only([&](const Observation& row) { return class_of(*row.problem) == of; });
  ClassDecisions decided;
  decided.problem_class = of;
  const ThresholdTable table = decide_ranges(where_paths_met(vibe(), own)).table;
  if (!table.classes.empty()) decided = table.classes.front();
  const PathTimes times = path_times(vibe(), own, of);
  return Emitted{*emission, settle(vibe(), decided, own.variants, times, input.device), of,
                 input.device};
}

/// The path that was decided where the axis has that value, or nothing.
std::optional<SwitchTarget> decided_at(const SettledStage& stage, std::int64_t at) {
  for (const PathRange& range : stage.decided) {
    if (range.from <= at && at < range.to) return range.path;
  }
  return std::nullopt;
}

/// Checks every settled stage at every length; how many choices were compared.
std::size_t check_read_back(const Emitted& e) {
  const std::string env = env_text(e.emission);
  INFO(env);
  std::size_t compared = 0;
  for (const std::int64_t length : lengths()) {
    const Problem p = problem_at(e.of, length);
    const auto runs = routed(env, p, e.device);
    for (const SettledStage& stage : e.settled.stages) {
      const std::int64_t at = axis_value(p, stage.axis);
      if (at < 1) continue;
      INFO(to_string(stage.stage) << " at " << length);
      const SwitchTarget settled = stage.path_at(at, e.of);
      CHECK(to_string(runs.at(stage.stage)) == to_string(settled));
      const auto decided = decided_at(stage, at);
      if (stage.exact && decided) CHECK(to_string(settled) == to_string(*decided));
      ++compared;
    }
  }
  return compared;
}

DecideInput recorded() {
  DecideInput input;
  input.device = h200();
  input.variants = catalog_traits(Backend::cuda);
  input.options.bootstrap = 100;
  input.rows = test::recorded_rows();
  return input;
}

/// A class of bf16 on a GPU, decided from sessions of single stages.
DecideInput made_up(const std::vector<Session>& sessions, std::int64_t head_dim_v = 64,
                    const std::string& executor = "nsatune") {
  DecideInput input;
  input.device = h200();
  for (const Session& s : sessions) {
    for (Measurement row : sim::measure(s)) {
      row.problem.dtype = Dtype::bf16;
      row.problem.head_dim_v = head_dim_v;
      row.executor = executor;
      input.rows.add(row);
    }
    const DecideInput one = sim::input_of(s, {});
    input.variants.insert(input.variants.end(), one.variants.begin(), one.variants.end());
    input.options = one.options;
  }
  return input;
}

Emitted emitted_of(const std::vector<Session>& sessions) {
  const DecideInput input = made_up(sessions);
  return emitted(input, class_of(*input.rows.rows().front().problem)).value();
}

using Times = std::vector<std::pair<std::string, Truth>>;
Session session(const std::string& stage, Times times) {
  Session s;
  s.stage = stage;
  s.variants = std::move(times);
  if (stage == "attend_window") s.lengths = {16, 32, 64, 128, 256, 512};
  return s;
}
Truth constant(double ns) {
  return [ns](double) { return ns; };
}
Truth better_from(double length) { return crossing_at(length, 0.2, constant(1e5)); }

}  // namespace

TEST_CASE("each class of the shipped file is read back as it was decided", "[emit]") {
  const ThresholdTable shipped =
      load_thresholds(std::string(NSA_SOURCE_DIR) + "/kernels/tuned/nvidia_h200.json");
  const DecideInput input = recorded();
  std::size_t compared = 0, settled = 0;
  for (const ClassDecisions& of : shipped.classes) {
    INFO(to_string(of.problem_class));
    const auto e = emitted(input, of.problem_class);
    if (!e) continue;  // nothing of the project was measured
    compared += check_read_back(*e);
    settled += e->settled.stages.size();
    const auto masked = e->emission.values.find("NSA_FORCE_SEL_MASK");  // quadratic, without an end
    if (masked != e->emission.values.end() && of.problem_class.phase == Phase::prefill)
      CHECK(masked->second == "0");
  }
  CHECK(settled >= 8);
  CHECK(compared > 1000);
}

TEST_CASE("the shipped file alone tells what its winners and runners-up tell", "[emit]") {
  const ThresholdTable shipped =
      load_thresholds(std::string(NSA_SOURCE_DIR) + "/kernels/tuned/nvidia_h200.json");
  const auto traits = catalog_traits(shipped.device.backend);
  std::size_t settled_stages = 0;
  for (const ClassDecisions& of : shipped.classes) {
    INFO(to_string(of.problem_class));
    PathTimes times;
    const ClassDecisions told = as_far_as_told(vibe(), of, shipped.device, traits, times);
    const Settlement settled = settle(vibe(), told, traits, times, shipped.device);
    settled_stages += settled.stages.size();
    const Emission emission = emit_from_table(vibe(), shipped, of, traits);
    check_read_back({emission, settled, of.problem_class, shipped.device});
  }
  CHECK(settled_stages > 0);
}

TEST_CASE("always, never and a length of each switch are read back", "[emit]") {
  const auto other = [](const char* fa2) {
    return session("attend_compressed", {{"sdpa_math", constant(1e5)}, {fa2, constant(2e5)}});
  };
  for (const double from : {1.0, 40.0, 96.0, 1e9}) {
    for (const char* fa2 : {"fa2_varlen", "fa2_dense"}) {
      INFO(fa2 << " from " << from);
      const Emitted e = emitted_of(
          {session("attend_window", {{"sdpa_math", constant(1e5)}, {fa2, better_from(from)}}),
           other(fa2)});
      CHECK(e.settled.stages.size() == 2);
      check_read_back(e);
    }
  }
}

TEST_CASE("never for both branches is the global switch, and for one its minimum", "[emit]") {
  const Times never{{"sdpa_math", constant(1)}, {"fa2_varlen", constant(2)}};
  const Times always{{"sdpa_math", constant(2)}, {"fa2_varlen", constant(1)}};
  const auto values = [](const Times& window, const Times& compressed) {
    return emitted_of({session("attend_window", window), session("attend_compressed", compressed)})
        .emission.values;
  };
  CHECK(values(never, never).at("NSA_USE_FA2") == "0");
  const ProjectValues one = values(always, never);
  CHECK(one.at("NSA_USE_FA2") == "1");
  CHECK(one.at("NSA_FA2_MIN_LEN_WIN") == "1");
  CHECK(one.at("NSA_FA2_MIN_LEN_CMP") == "-1");
  CHECK(one.at("NSA_ALLOW_SLIDING_FA2") == "1");
}

TEST_CASE("a branch that was not measured is kept off where the other one is switched on",
          "[emit]") {
  const Emitted e = emitted_of(
      {session("attend_window", {{"sdpa_math", constant(2)}, {"fa2_varlen", constant(1)}})});
  CHECK(e.emission.values.at("NSA_FA2_MIN_LEN_CMP") == "-1");
  REQUIRE(e.emission.notes.size() == 1);
  CHECK(e.emission.notes[0].starts_with("NSA_FA2_MIN_LEN_CMP: keeps a branch off"));
}

TEST_CASE("the compressed minimum is in compressed tokens", "[emit]") {
  Session s = session("attend_compressed",
                      {{"sdpa_math", constant(1e5)}, {"fa2_varlen", better_from(1000)}});
  const Emitted e = emitted_of({s});
  // 1000 tokens are (1000 - 32) / 16 + 1 compressed ones
  const std::int64_t least = std::stoll(e.emission.values.at("NSA_FA2_MIN_LEN_CMP"));
  CHECK(least > 50);
  CHECK(least < 70);
  check_read_back(e);
}

TEST_CASE("each selected path that the project has is read back", "[emit]") {
  const std::vector<std::string> paths{"masked", "packed", "varlen_v1", "varlen_v2", "triton"};
  for (const std::string& best : paths) {
    INFO(best);
    Times times;
    for (const std::string& path : paths) times.emplace_back(path, constant(path == best ? 1 : 2));
    const Emitted e = emitted_of({session("attend_selected", times)});
    REQUIRE(e.settled.stages.size() == 1);
    CHECK(to_string(e.settled.stages[0].setting->path) == best);
    CHECK(e.settled.stages[0].exact);
    check_read_back(e);
  }
}

TEST_CASE("varlen from a length on is one number, and read back", "[emit]") {
  for (const double from : {150.0, 600.0, 1000.0}) {
    const Emitted e = emitted_of({session(
        "attend_selected", {{"packed", constant(1e5)}, {"varlen_v2", better_from(from)}})});
    CHECK(e.settled.stages.at(0).exact);
    CHECK(std::stod(e.emission.values.at("NSA_SEL_VARLEN_MIN_L")) == Approx(from).margin(10));
    check_read_back(e);
  }
}

TEST_CASE("several ranges become the setting that loses least, and the file says so", "[emit]") {
  // packed below 700 and from 5000 on, varlen between: rows are no longer than 1024 tokens
  const Truth varlen = [](double n) { return n < 700 ? 2e5 : n < 5000 ? 1e5 : 1.3e5; };
  const Truth packed = [](double n) { return n < 700 ? 1e5 : n < 5000 ? 2e5 : 1e5; };
  const Emitted e =
      emitted_of({session("attend_selected", {{"packed", packed}, {"varlen_v2", varlen}})});
  const SettledStage& stage = e.settled.stages.at(0);
  CHECK_FALSE(stage.exact);
  CHECK(to_string(stage.setting->path) == "varlen_v2");
  // Of 128, ..., 16384 the last two lose .3 each; packed alone would lose 1 at three lengths.
  CHECK(stage.loss == Approx(0.6 / 8).epsilon(0.02));
  CHECK(env_text(e.emission).find("# lossy") == std::string::npos);
  CHECK(env_text(e.emission).find("lossy: the switches cannot say the whole") != std::string::npos);
  check_read_back(e);
}

TEST_CASE("no other number loses less than the emitted one", "[emit]") {
  const Truth fa2 = [](double n) { return n < 60 ? 2e5 : n < 200 ? 6e4 : n < 400 ? 3e5 : 5e4; };
  const Emitted e =
      emitted_of({session("attend_window", {{"sdpa_math", constant(1e5)}, {"fa2_varlen", fa2}})});
  const SettledStage& stage = e.settled.stages.at(0);
  const auto lost_with = [&](std::int64_t least) {
    double lost = 0;
    for (const double n : {16.0, 32.0, 64.0, 128.0, 256.0, 512.0}) {
      const double best = std::min(1e5, fa2(n)),
                   runs = n >= static_cast<double>(least) ? fa2(n) : 1e5;
      lost += runs / best - 1;
    }
    return lost / 6;
  };
  double least_loss = INFINITY;
  for (std::int64_t least = 1; least < 600; ++least)
    least_loss = std::min(least_loss, lost_with(least));
  CHECK_FALSE(stage.exact);
  CHECK(stage.loss == Approx(least_loss).epsilon(0.01));
}

TEST_CASE("a stage with one measured path, or none, stays as it is", "[emit]") {
  const Emitted e = emitted_of(
      {session("ranges", {{"ranges_v2", constant(1)}}),
       session("attend_selected",
               {{"fused_query", constant(1)}, {"masked", constant(3)}, {"packed", constant(2)}})});
  CHECK_FALSE(e.emission.values.contains("NSA_SEL_RANGES_V2"));
  CHECK(e.emission.values.at("NSA_USE_SEL_PACK") == "1");  // not what only we have
  const std::string env = env_text(e.emission);
  CHECK(env.find("0.667x the time of masked, median of 8 problems; measured at seq_len 128 to "
                 "16384") != std::string::npos);
  CHECK(env.find("# ranges: left as it is: times of v2 only") != std::string::npos);
  CHECK(env.find("# gate_combine: left as it is: no times of its paths") != std::string::npos);
}

namespace {

/// masked and varlen v2 with these times up to 2048, and masked without the other beyond: it was
/// left out there against a row that the project has not got.
DecideInput masked_alone_beyond(double masked_ns, double varlen_ns, bool with_orders) {
  Session met = session("attend_selected",
                        {{"masked", constant(masked_ns)}, {"varlen_v2", constant(varlen_ns)}});
  met.lengths = {128, 256, 512, 1024, 2048};
  Session alone = session("attend_selected", {{"masked", constant(masked_ns)}});
  alone.lengths = {4096, 8192, 20000};
  DecideInput input = made_up({met, alone});
  for (VariantTraits& traits : input.variants) {
    if (!with_orders) break;
    traits.order = traits.id.name == "masked" ? kQuadratic : WorkOrder{};
  }
  return input;
}

std::string env_of(const DecideInput& input) {
  const auto emission = emit_from_rows(vibe(), input, class_of(*input.rows.rows()[0].problem));
  return env_text(emission.value());
}

}  // namespace

TEST_CASE("a path that won alone is not measured there", "[emit]") {
  const std::string env = env_of(masked_alone_beyond(1e5, 3e5, false));
  CHECK(env.find("median of 5 problems; measured at seq_len 128 to 2048") != std::string::npos);
  CHECK(env.find("20000") == std::string::npos);
}

TEST_CASE("a path of a higher order is not switched on for all lengths beyond", "[emit]") {
  const std::string env = env_of(masked_alone_beyond(1e5, 3e5, true));
  CHECK(env.find("NSA_FORCE_SEL_MASK") == std::string::npos);
  CHECK(env.find("# attend_selected: left as it is: masked is best up to seq_len 2048, the longest "
                 "at which two of its paths were measured; beyond, its work grows faster than that "
                 "of varlen v2, and a switch has no end") != std::string::npos);
}

TEST_CASE("the path of the lower order is taken where it hardly loses", "[emit]") {
  const std::string env = env_of(masked_alone_beyond(1e5, 1.03e5, true));
  CHECK(env.find("NSA_FORCE_SEL_MASK=0") != std::string::npos);
  CHECK(env.find("NSA_SEL_VARLEN_MIN_L=1\n") != std::string::npos);
  CHECK(env.find("this loses 3.00 % against it") != std::string::npos);
}

TEST_CASE("a setting without a time where others met is no candidate", "[emit]") {
  // Two met below 1000 and two others above: no setting has both stretches.
  Session low =
      session("attend_selected", {{"masked", constant(1e5)}, {"varlen_v1", constant(2e5)}});
  low.lengths = {128, 256, 512};
  Session high = session("attend_selected", {{"packed", constant(1e5)}, {"triton", constant(2e5)}});
  high.lengths = {2048, 4096, 8192};
  const std::string env = env_of(made_up({low, high}));
  CHECK(env.find(" % against it") == std::string::npos);
  CHECK(env.find("# attend_selected: left as it is: no setting has times wherever its paths were "
                 "compared") != std::string::npos);
}

TEST_CASE("two paths that never met are not compared", "[emit]") {
  Session low = session("ranges", {{"ranges_v1", constant(1e5)}});
  low.lengths = {128, 256};
  Session high = session("ranges", {{"ranges_v2", constant(1e5)}});
  high.lengths = {512, 1024};
  const std::string env = env_of(made_up({low, high}));
  CHECK(env.find("# ranges: left as it is: no two of its paths have times of the same problem") !=
        std::string::npos);
}

TEST_CASE("settings that want two values of one variable give way to the smaller loss", "[emit]") {
  // A dense compressed branch takes the window with it, so one of them has to yield.
  const auto e = emitted_of({session("attend_window", {{"sdpa_math", constant(9e5)},
                                                       {"fa2_dense", constant(1.1e5)},
                                                       {"fa2_varlen", constant(1e5)}}),
                             session("attend_compressed", {{"sdpa_math", constant(9e5)},
                                                           {"fa2_dense", constant(1e5)},
                                                           {"fa2_varlen", constant(2e5)}})});
  const SettledStage& window = *e.settled.find(Stage::attend_window);
  CHECK(to_string(window.setting->path) == "fa2_dense");
  CHECK_FALSE(window.exact);
  CHECK(window.loss == Approx(0.1));
  CHECK(to_string(e.settled.find(Stage::attend_compressed)->setting->path) == "fa2_dense");
  check_read_back(e);
}

TEST_CASE("both ways of each switch without a length are read back", "[emit]") {
  const std::vector<std::array<const char*, 3>> switches{
      {"ranges", "ranges_v1", "ranges_v2"},
      {"score", "materialised", "p_cmp_bf16"},
      {"gate_combine", "three_steps", "gate_fused"},
      {"attention", "batched", "sequential"}};
  for (const auto& [stage, off, on] : switches) {
    for (const double ns : {1e5, 3e5}) {
      INFO(stage << ", the second takes " << ns);
      const Emitted e = emitted_of({session(stage, {{off, constant(2e5)}, {on, constant(ns)}})});
      REQUIRE(e.settled.stages.size() == 1);
      CHECK(e.settled.stages[0].exact);
      CHECK(check_read_back(e) > 100);
    }
  }
}

TEST_CASE("a varlen length that no row has cannot be said", "[emit]") {
  const Emitted e = emitted_of(
      {session("attend_selected", {{"packed", constant(1e5)}, {"varlen_v2", better_from(5000)}})});
  CHECK_FALSE(e.settled.stages.at(0).exact);
  check_read_back(e);
}

TEST_CASE("problems that its FlashAttention-2 refuses leave its switches alone", "[emit]") {
  const DecideInput input = made_up(
      {session("attend_window", {{"sdpa_math", constant(2e5)}, {"fa2_varlen", constant(1e5)}})},
      32);
  const auto e = emitted(input, class_of(*input.rows.rows().front().problem));
  REQUIRE(e);
  CHECK(e->emission.values.empty());
  CHECK(env_text(e->emission).find("takes equal head dims only") != std::string::npos);
}

TEST_CASE("a guard of compute capability 8.9 is lifted where FlashAttention-2 was better",
          "[emit]") {
  DecideInput input = made_up(
      {session("attend_window", {{"sdpa_math", constant(2e5)}, {"fa2_varlen", constant(1e5)}})});
  input.device.compute_capability = 89;
  const auto e = emitted(input, class_of(*input.rows.rows().front().problem));
  REQUIRE(e);
  CHECK(e->emission.values.at("NSA_FA2_FORCE") == "1");
  check_read_back(*e);
}

TEST_CASE("rows of a foreign worker are decided as the project's own", "[emit]") {
  DecideInput input = made_up(
      {session("attend_selected", {{"triton", better_from(500)}, {"packed", constant(1e5)}})}, 64,
      "vibe");
  input.variants.clear();
  input.options.executor = "vibe";
  const auto e = emitted(input, class_of(*input.rows.rows().front().problem));
  REQUIRE(e);
  CHECK(e->emission.values.at("NSA_USE_TRITON_SEL") == "1");
  CHECK_FALSE(e->emission.stand_ins);
  CHECK(env_text(e->emission).find("# measured by vibe") != std::string::npos);
  check_read_back(*e);
}
