// Who wins: API > environment > thresholds file > shipped table > built-in default.
#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// Each source asks for another variant, so that the variant tells who decided.
struct Wish {
  Source source;
  std::string variant;
};
const std::array<Wish, 5> kWishes{{{Source::api, "gather"},
                                   {Source::environment, "masked"},
                                   {Source::thresholds, "packed"},
                                   {Source::shipped, "varlen_v1"},
                                   {Source::built_in, "fused_query"}}};

Router::Inputs with_sources(bool api, bool environment_set, bool thresholds, bool shipped) {
  Router::Inputs in = inputs(environment_set ? std::vector<std::string>{"NSA_FORCE_SEL_MASK=1"}
                                             : std::vector<std::string>{});
  if (api) in.api.variants = {{Stage::attend_selected, id("attend_selected", kWishes[0].variant)}};
  if (thresholds) in.table = always(in.device, kWishes[2].variant);
  if (shipped) in.shipped = always(in.device, kWishes[3].variant);
  return in;
}

}  // namespace

TEST_CASE("in every combination of sources the strongest one that is there decides",
          "[kernels][routing]") {
  for (unsigned mask = 0; mask < 16; ++mask) {
    const Router router(with_sources(mask & 1u, mask & 2u, mask & 4u, mask & 8u));
    std::size_t strongest = 0;
    while (strongest < 4 && !(mask & 1u << strongest)) ++strongest;
    const Choice choice = router.choose(Stage::attend_selected, prefill(2048));
    INFO("sources " << mask);
    REQUIRE(choice.variant);
    CHECK(choice.variant->name == kWishes[strongest].variant);
    CHECK(choice.source == kWishes[strongest].source);
    CHECK(choice.fallback_reason == nullptr);
  }
}

TEST_CASE("a wish that cannot run falls to the next source and says why", "[kernels][routing]") {
  Router::Inputs in = with_sources(false, false, true, true);
  in.api.variants = {{Stage::attend_selected, id("attend_selected", "varlen_v2")}};
  in.table = always(in.device, "dense_prefix", decode(8192));
  in.shipped = always(in.device, "packed", decode(8192));
  const Router router(std::move(in));
  const Choice choice = router.choose(Stage::attend_selected, decode(8192));
  CHECK(choice.variant->name == "packed");
  CHECK(choice.source == Source::shipped);
  REQUIRE(choice.fallback_reason != nullptr);
  CHECK(std::string(choice.fallback_reason) == "varlen_v2: does not support this problem");
}

TEST_CASE("a caller who names an unknown variant or point is told so", "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.api.variants = {{Stage::attend_selected, id("attend_selected", "warp_drive")}};
  CHECK_THROWS_AS(Router(std::move(in)), InputError);
  Router::Inputs other = inputs();
  other.api.variants = {
      {Stage::attend_selected, id("attend_selected", "fused_query", {{"bq", 7}})}};
  CHECK_THROWS_AS(Router(std::move(other)), InputError);
}

TEST_CASE("the built-in default is the fastest exact row and never the slow path",
          "[kernels][routing]") {
  const Router router(inputs());
  CHECK(chosen(router, Stage::attend_selected, prefill(2048)) == "fused_query");
  CHECK(chosen(router, Stage::ranges, prefill(2048)) == "ranges_v2");
  CHECK(chosen(router, Stage::attend_window, prefill(2048)) == "fa2_varlen");
  CHECK(chosen(router, Stage::score, prefill(2048)) == "exact");
  CHECK(chosen(router, Stage::attention, prefill(2048)) == "batched");
}

TEST_CASE("with only the slow path left nothing is chosen", "[kernels][routing]") {
  Variant coarse = row<Stage::attend_selected>("coarse");
  coarse.precision = Precision::reduced;
  const std::vector<Variant> rows{row<Stage::attend_selected>("ranges", Role::slow_path), coarse};
  Router::Inputs in = inputs();
  in.rows = rows;
  const Router router(std::move(in));
  CHECK(router.choose(Stage::attend_selected, prefill(64)).variant == nullptr);
  CHECK(router.choose(Stage::attend_selected, prefill(64)).point != nullptr);
}

TEST_CASE("a dtype that no row stores gets nothing", "[kernels][routing]") {
  Problem p = prefill(128);
  p.dtype = Dtype::fp64;
  CHECK(chosen(Router(inputs()), Stage::attend_selected, p) == "nothing");
}

TEST_CASE("reserves follow the same precedence, field by field", "[kernels][routing]") {
  Router::Inputs in = inputs({"NSA_VARLEN_RESERVE_N=5"});
  in.table = always(in.device, "masked");
  in.table->classes[0].reserves.varlen_reserve_n = 6;
  in.table->classes[0].reserves.varlen_reserve_k = 7;
  in.shipped = always(in.device, "masked");
  in.shipped->classes[0].reserves.varlen_reserve_k = 8;
  in.shipped->classes[0].reserves.sel_pack_reserve_n = 9;
  const Reserves reserves = Router(std::move(in)).reserves(prefill(2048));
  CHECK(reserves.varlen_reserve_n == 5);
  CHECK(reserves.varlen_reserve_k == 7);
  CHECK(reserves.sel_pack_reserve_n == 9);
  CHECK(!reserves.sel_pack_reserve_l);
}

TEST_CASE("a reserve is cut to its limit and to half of the memory", "[kernels][routing]") {
  Router::Inputs in = inputs({"NSA_VARLEN_RESERVE_K=900000000", "NSA_VARLEN_RESERVE_N=-4"});
  in.device.memory_bytes = std::int64_t{1} << 30;
  const Router router(std::move(in));
  // fp32, 6 heads per group, 128 elements of K and V: 3,072 bytes a token.
  CHECK(router.reserves(prefill(2048)).varlen_reserve_k == (std::int64_t{1} << 29) / 3072);
  CHECK(!router.reserves(prefill(2048)).varlen_reserve_n);
  CHECK(router.warnings().size() == 2);
  Router::Inputs roomy = inputs({"NSA_VARLEN_RESERVE_K=900000000"});
  roomy.device.memory_bytes.reset();
  CHECK(Router(std::move(roomy)).reserves(prefill(2048)).varlen_reserve_k == 100'000'000);
}

TEST_CASE("a stage that nobody asks for is decided alike whether or not somebody asks for another",
          "[kernels][routing]") {
  const auto text = [](const char* reason) { return std::string(reason ? reason : "none"); };
  const auto check_alike = [&](const Choice& a, const Choice& b) {
    CHECK(a.variant == b.variant);
    CHECK(*a.point == *b.point);
    CHECK(a.source == b.source);
    CHECK(a.fit == b.fit);
    CHECK(a.stale == b.stale);
    CHECK(a.device_fit == b.device_fit);
    CHECK(text(a.fallback_reason) == text(b.fallback_reason));
    REQUIRE((a.range == nullptr) == (b.range == nullptr));
    if (a.range) CHECK(*a.range == *b.range);
  };
  // What is not in this program, what cannot run some of the problems, and what runs all of them.
  const auto first = GENERATE("fused_block", "varlen_v2", "dense_prefix", "packed");
  const auto second = GENERATE("dense_prefix", "gather");
  const auto runner_up = GENERATE("", "attend_selected/varlen_v1", "attend_selected/dense_prefix");
  CAPTURE(first, second, runner_up);
  Router::Inputs in = inputs();
  in.table = always(in.device, first);
  in.table->classes.push_back(always(in.device, first, decode(4096)).classes.front());
  for (ClassDecisions& c : in.table->classes) {
    if (*runner_up) c.decisions[0].ranges[0].evidence.runner_up = runner_up;
  }
  in.shipped = always(in.device, second);
  Router::Inputs asked = in;
  asked.environment = environment({"NSA_SEL_RANGES_V2=1"});  // of stage ranges
  const Router plain(std::move(in)), other(std::move(asked));
  for (const Problem& p : {prefill(64), prefill(4096), prefill(4096, 3), decode(4096)}) {
    for (const Stage stage : {Stage::attend_selected, Stage::attend_window, Stage::out_proj})
      check_alike(plain.choose(stage, p), other.choose(stage, p));
  }
}
