// Reading an emitted file back: what the project then runs is what was decided among its paths.
#include "catch.hpp"
#include "emit/by_flat_view.hpp"
#include "emit_support.hpp"

using namespace emitting;

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

TEST_CASE("each class of the shipped file is read back up to a length that is given", "[emit]") {
  const ThresholdTable shipped =
      load_thresholds(std::string(NSA_SOURCE_DIR) + "/kernels/tuned/nvidia_h200.json");
  const DecideInput input = recorded();
  std::size_t compared = 0, with_an_end = 0, selected = 0;
  for (const ClassDecisions& of : shipped.classes) {
    INFO(to_string(of.problem_class));
    const auto e = emitted(input, of.problem_class, problem_at(of.problem_class, 2048));
    if (!e) continue;  // nothing of the project was measured
    compared += check_read_back(*e);
    for (const SettledStage& stage : e->settled.stages) {
      with_an_end += stage.up_to ? 1 : 0;
      selected += stage.stage == Stage::attend_selected ? 1 : 0;
    }
    const std::string env = env_text(e->emission);
    CHECK((env.find("NSA_FORCE_SEL_MASK=1") == std::string::npos ||
           env.find("#   for lengths up to ") != std::string::npos));
  }
  CHECK(with_an_end > 0);
  CHECK(selected > 0);
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
    const Settlement settled =
        settle_table(vibe(), of, shipped.device, shipped.executor, traits, times);
    settled_stages += settled.stages.size();
    const Emission emission = emit_from_table(vibe(), shipped, of, traits);
    check_read_back({emission, settled, of.problem_class, shipped.device});
  }
  CHECK(settled_stages > 0);
}

TEST_CASE("a file alone sets what the rows behind it set", "[emit]") {
  const ThresholdTable shipped =
      load_thresholds(std::string(NSA_SOURCE_DIR) + "/kernels/tuned/nvidia_h200.json");
  const DecideInput input = recorded();
  const ThresholdTable table = decide(input).table;
  std::size_t set = 0, as_shipped = 0;
  for (const ClassDecisions& of : table.classes) {
    if (of.problem_class.direction != Direction::forward) continue;
    INFO(to_string(of.problem_class));
    const Emission from_file = emit_from_table(vibe(), table, of, input.variants);
    const auto from_rows = emit_from_rows(vibe(), input, of.problem_class);
    CHECK(from_file.values == (from_rows ? from_rows->values : ProjectValues()));
    set += from_file.values.size();
    const auto at =
        std::ranges::find(shipped.classes, of.problem_class, &ClassDecisions::problem_class);
    if (at != shipped.classes.end() && at->flat == of.flat) {
      ++as_shipped;
      CHECK(emit_from_table(vibe(), shipped, *at, input.variants).values == from_file.values);
    }
    if (!from_rows) continue;
    for (const EmittedStage& stage : from_rows->stages) {
      const auto same = std::ranges::find(from_file.stages, stage.stage, &EmittedStage::stage);
      REQUIRE(same != from_file.stages.end());
      INFO(to_string(stage.stage));
      CHECK(same->runs == stage.runs);
      CHECK(same->exact == stage.exact);
      CHECK(same->loss == stage.loss);
    }
  }
  CHECK(set > 30);
  CHECK(as_shipped >= 8);
}

TEST_CASE("a file alone settles the users' length as the rows behind it do", "[emit]") {
  const DecideInput input = recorded();
  const ThresholdTable table =
      parse_thresholds(dump_thresholds(decide(input).table), "thresholds.json");
  std::size_t compared = 0, selected = 0;
  for (const ClassDecisions& of : table.classes) {
    if (of.problem_class.direction != Direction::forward) continue;
    INFO(to_string(of.problem_class));
    const Problem longest = problem_at(of.problem_class, 2048);
    const auto from_rows = emit_from_rows(vibe(), input, of.problem_class, longest);
    if (!from_rows) continue;
    Emission from_file = emit_from_table(vibe(), table, of, input.variants, longest);
    from_file.source = from_rows->source;
    CHECK(env_text(from_file) == env_text(*from_rows));
    ++compared;
    for (const EmittedStage& stage : from_file.stages)
      selected += stage.stage == Stage::attend_selected && stage.up_to ? 1 : 0;
  }
  CHECK(compared >= 8);
  CHECK(selected > 0);
}

TEST_CASE("a file says how its program's paths grow, whatever this build declares", "[emit]") {
  const DecideInput input =
      made_up({session("attend_selected", {{"masked", constant(1e5)}, {"packed", constant(2e5)}})});
  DecideInput quadratic = input;
  for (VariantTraits& one : quadratic.variants)
    one.order = one.path == SwitchTarget::masked ? kQuadratic : WorkOrder{};
  const auto values_of = [](const ThresholdTable& table) {
    return emit_from_table(vibe(), table, table.classes.at(0), {}).values;
  };
  CHECK(values_of(decide(input).table).contains("NSA_FORCE_SEL_MASK"));
  CHECK_FALSE(values_of(decide(quadratic).table).contains("NSA_FORCE_SEL_MASK"));
}

TEST_CASE("a partial sweep keeps what the file carries of other stages", "[emit]") {
  const Session selected =
      session("attend_selected", {{"masked", constant(2)}, {"packed", constant(1)}});
  const Session ranges =
      session("ranges", {{"ranges_v1", constant(2)}, {"ranges_v2", constant(1)}});
  const ThresholdTable before = decide(made_up({selected, ranges})).table;
  DecideInput input =
      made_up({session("attend_selected", {{"masked", constant(1)}, {"packed", constant(2)}})});
  input.shipped = before;
  const ThresholdTable now = decide(input).table;
  const auto& kept = now.classes.at(0).projects.at(0).stages;
  const auto& old = before.classes.at(0).projects.at(0).stages;
  const auto times_of = [](const std::vector<ProjectStageTimes>& stages, const char* stage) {
    return *std::ranges::find(stages, stage, &ProjectStageTimes::stage);
  };
  REQUIRE(kept.size() == 2);
  CHECK(times_of(kept, "ranges") == times_of(old, "ranges"));
  CHECK(times_of(kept, "attend_selected").measured.at(0).ns.at("masked") == 1);
  input.shipped->classes[0].problem_class.dtype = Dtype::fp16;
  const ThresholdTable other = decide(input).table;
  REQUIRE(other.classes.size() == 2);
  CHECK(std::ranges::count(other.classes, before.classes[0].projects, &ClassDecisions::projects) ==
        1);
}

TEST_CASE("of a file that carries no times of a stage, its flat view still counts", "[emit]") {
  ThresholdTable table =
      decide(
          made_up({session("attend_selected", {{"masked", constant(2)}, {"packed", constant(1)}}),
                   session("ranges", {{"ranges_v1", constant(2)}, {"ranges_v2", constant(1)}})}))
          .table;
  ClassDecisions& of = table.classes.at(0);
  REQUIRE(of.projects.size() == 1);
  REQUIRE(of.projects[0].stages.size() == 2);
  const ProjectValues all = emit_from_table(vibe(), table, of, {}).values;
  std::erase_if(of.projects[0].stages,
                [](const ProjectStageTimes& stage) { return stage.stage == "ranges"; });
  CHECK(emit_from_table(vibe(), table, of, {}).values == all);
  CHECK(all.at("NSA_SEL_RANGES_V2") == "1");
  CHECK(all.at("NSA_USE_SEL_PACK") == "1");
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
