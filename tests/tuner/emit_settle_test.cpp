// Which setting is emitted where paths did not meet everywhere, or settings get in each other's
// way.
#include "catch.hpp"
#include "emit_support.hpp"

using namespace emitting;

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

std::string env_of(const DecideInput& input, const std::optional<Problem>& longest = {}) {
  const auto emission =
      emit_from_rows(vibe(), input, class_of(*input.rows.rows()[0].problem), longest);
  return env_text(emission.value());
}

/// A problem of the class of `input`, of that length.
Problem as_long_as(const DecideInput& input, std::int64_t length) {
  return problem_at(class_of(*input.rows.rows()[0].problem), length);
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
                 "of varlen v2, and a switch has no end; to write it for lengths up to that, give "
                 "yours by --seq-len, --context-len or --config") != std::string::npos);
}

TEST_CASE("a path of a higher order is switched on for lengths up to one that was measured",
          "[emit]") {
  const DecideInput input = masked_alone_beyond(1e5, 3e5, true);
  for (const std::int64_t longest : {512, 1500, 2048}) {
    const std::string env = env_of(input, as_long_as(input, longest));
    CHECK(env.find("NSA_FORCE_SEL_MASK=1\n") != std::string::npos);
    CHECK(env.find("# attend_selected: masked\n#   for lengths up to seq_len " +
                   std::to_string(longest) + "; write the file anew for longer ones\n") !=
          std::string::npos);
  }
  // What was compared beyond that length is no evidence for it.
  CHECK(env_of(input, as_long_as(input, 512)).find("measured at seq_len 128 to 512\n") !=
        std::string::npos);
  for (const std::int64_t longest : {64, 2049, 20000}) {  // its paths met from 128 to 2048
    const std::string env = env_of(input, as_long_as(input, longest));
    CHECK(env.find("NSA_FORCE_SEL_MASK") == std::string::npos);
    CHECK(env.find("# attend_selected: left as it is: masked is best up to") != std::string::npos);
  }
}

TEST_CASE("the path that is best up to the given length is written, not the one beyond", "[emit]") {
  const DecideInput input = [] {
    DecideInput made = made_up(
        {session("attend_selected", {{"masked", sim::crossing_at(1000, -1.0, constant(1e5))},
                                     {"packed", constant(1e5)}})});
    for (VariantTraits& traits : made.variants)
      traits.order = traits.id.name == "masked" ? kQuadratic : WorkOrder{};
    return made;
  }();
  const auto longest = static_cast<std::int64_t>(512);
  INFO(env_of(input));
  const auto e =
      emitted(input, class_of(*input.rows.rows()[0].problem), as_long_as(input, longest));
  REQUIRE(e);
  CHECK(check_read_back(*e) > 50);
  const SettledStage* selected = e->settled.find(Stage::attend_selected);
  REQUIRE(selected);
  CHECK(selected->up_to == longest);
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
