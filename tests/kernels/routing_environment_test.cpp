// The walk over the NSA_* switches.
#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

using Entries = std::vector<std::string>;

std::string window(Entries entries, std::int64_t seq_len) {
  return chosen(Router(inputs(std::move(entries))), Stage::attend_window, prefill(seq_len));
}
std::string compressed(Entries entries, std::int64_t seq_len) {
  return chosen(Router(inputs(std::move(entries))), Stage::attend_compressed, prefill(seq_len));
}
std::string ranges(Entries entries, const Problem& p) {
  return chosen(Router(inputs(std::move(entries))), Stage::ranges, p);
}

/// attend_selected under these variables where a table has chosen `tuned`.
std::string over_tuned(Entries entries, const std::string& tuned) {
  Router::Inputs in = inputs(std::move(entries));
  in.table = always(in.device, tuned);
  return chosen(Router(std::move(in)), Stage::attend_selected, prefill(2048));
}

}  // namespace

TEST_CASE("the selection walk takes the first switch that is on", "[kernels][routing]") {
  const Problem p = prefill(2048);
  CHECK(selected({}, p) == "fused_query");
  CHECK(selected({"NSA_FORCE_SEL_MASK=1", "NSA_USE_SEL_VARLEN=1", "NSA_USE_SEL_PACK=1"}, p) ==
        "masked");
  CHECK(selected({"NSA_USE_SEL_VARLEN=1", "NSA_USE_SEL_PACK=1"}, p) == "varlen_v2");
  CHECK(selected({"NSA_USE_SEL_PACK=1", "NSA_USE_SEL_MASK=1"}, p) == "packed");
  CHECK(selected({"NSA_USE_SEL_MASK=1"}, p) == "masked");
  CHECK(selected({"NSA_USE_SEL_PACK=0", "NSA_USE_SEL_MASK=1"}, p) == "masked");
}

TEST_CASE("all fast paths off leaves the slow path", "[kernels][routing]") {
  CHECK(selected({"NSA_USE_SEL_PACK=0"}, prefill(2048)) == "ranges");
  CHECK(selected({"NSA_USE_SEL_PACK=0", "NSA_USE_SEL_MASK=0"}, prefill(2048)) == "ranges");
  CHECK(selected({"NSA_USE_SEL_PACK=0", "NSA_PREFILL_BATCHED=1"}, prefill(2048)) == "gather");
  CHECK(selected({"NSA_USE_SEL_PACK=0", "NSA_PREFILL_BATCHED=1"}, decode(2048)) == "ranges");
  CHECK(selected({"NSA_FORCE_SEL_MASK=0"}, prefill(2048)) == "fused_query");
}

TEST_CASE("parity switches the fast paths off but not NSA_USE_SEL_MASK of a batched prefill",
          "[kernels][routing]") {
  const Problem p = prefill(2048);
  CHECK(selected({"NSA_FORCE_PARITY=1", "NSA_FORCE_SEL_MASK=1"}, p) == "ranges");
  CHECK(selected({"NSA_FORCE_PARITY=1", "NSA_USE_SEL_MASK=1"}, p) == "ranges");
  const Entries batched{"NSA_FORCE_PARITY=1", "NSA_USE_SEL_MASK=1", "NSA_PREFILL_BATCHED=1"};
  CHECK(selected(batched, p) == "masked");
  CHECK(selected(batched, decode(2048)) == "ranges");
  CHECK(selected({"NSA_FORCE_PARITY=1", "NSA_USE_SEL_PACK=1", "NSA_PREFILL_BATCHED=1"}, p) ==
        "gather");
}

TEST_CASE("varlen's own switches act wherever varlen was chosen", "[kernels][routing]") {
  const Problem p = prefill(2048);
  CHECK(selected({"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_V2=0"}, p) == "varlen_v1");
  CHECK(selected({"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_FORCE_PARITY=1"}, p) == "packed");
  CHECK(over_tuned({"NSA_SEL_VARLEN_V2=0"}, "varlen_v2") == "varlen_v1");
  CHECK(over_tuned({"NSA_SEL_VARLEN_V2=1"}, "varlen_v1") == "varlen_v2");
  CHECK(over_tuned({"NSA_SEL_VARLEN_FORCE_PARITY=1"}, "varlen_v1") == "packed");
  CHECK(over_tuned({"NSA_SEL_VARLEN_FORCE_PARITY=1"}, "gather") == "gather");
}

TEST_CASE("varlen_v2 starts at its minimum in tokens of the longest row", "[kernels][routing]") {
  const Entries entries{"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_MIN_L=200"};
  CHECK(selected(entries, prefill(199)) == "packed");
  CHECK(selected(entries, prefill(200)) == "varlen_v2");
  // n l' = 1,024 is the longest row there is.
  CHECK(selected({"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_MIN_L=1024"}, prefill(8192)) ==
        "varlen_v2");
  CHECK(selected({"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_MIN_L=1025"}, prefill(8192)) == "packed");
}

TEST_CASE("a path that is switched off is not chosen by a table either", "[kernels][routing]") {
  CHECK(over_tuned({"NSA_USE_SEL_VARLEN=0"}, "varlen_v2") == "fused_query");
  CHECK(over_tuned({"NSA_USE_SEL_MASK=0"}, "masked") == "fused_query");
  CHECK(over_tuned({"NSA_USE_SEL_MASK=0"}, "packed") == "packed");
}

TEST_CASE("a range that is ruled out gives way to the runner-up that was measured with it",
          "[kernels][routing]") {
  Router::Inputs in = inputs({"NSA_USE_SEL_MASK=0"});
  in.table = always(in.device, "masked");
  in.table->classes[0].decisions[0].ranges[0].evidence.runner_up = "attend_selected/gather";
  const Choice choice = Router(std::move(in)).choose(Stage::attend_selected, prefill(2048));
  CHECK(choice.variant->name == "gather");
  CHECK(choice.source == Source::environment);
}

TEST_CASE("the range converter follows its switch, else its minimum", "[kernels][routing]") {
  CHECK(ranges({"NSA_SEL_RANGES_V2=0"}, prefill(4096)) == "ranges_v1");
  CHECK(ranges({"NSA_SEL_RANGES_V2=1", "NSA_SEL_RANGES_V2_MIN_S=9999"}, prefill(8)) == "ranges_v2");
  CHECK(ranges({"NSA_SEL_RANGES_V2_MIN_S=1024"}, prefill(1023)) == "ranges_v1");
  CHECK(ranges({"NSA_SEL_RANGES_V2_MIN_S=1024"}, prefill(1024)) == "ranges_v2");
  CHECK(ranges({"NSA_SEL_RANGES_V2_MIN_S=1024"}, decode(4096)) == "ranges_v1");
}

TEST_CASE("a branch's own FA-2 flag beats the global one, and unset overrides nothing",
          "[kernels][routing]") {
  CHECK(window({"NSA_USE_FA2=0"}, 2048) == "sdpa_math");
  CHECK(window({"NSA_USE_FA2=0", "NSA_USE_FA2_WIN=1"}, 2048) == "fa2_varlen");
  CHECK(window({"NSA_USE_FA2=1", "NSA_USE_FA2_WIN=0"}, 2048) == "sdpa_math");
  CHECK(window({"NSA_USE_FA2_CMP=0"}, 2048) == "fa2_varlen");
  CHECK(compressed({"NSA_USE_FA2_CMP=0"}, 2048) == "sdpa_math");
}

TEST_CASE("FA-2 minimum lengths are in the unit that the branch compares", "[kernels][routing]") {
  // The window's rows have min(S, 512) tokens, the compressed branch (S - 32) / 16 + 1.
  CHECK(window({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_WIN=512"}, 511) == "sdpa_math");
  CHECK(window({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_WIN=512"}, 512) == "fa2_varlen");
  CHECK(window({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_WIN=513"}, 65536) == "sdpa_math");
  CHECK(compressed({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_CMP=63"}, 1023) == "sdpa_math");
  CHECK(compressed({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_CMP=63"}, 1024) == "fa2_varlen");
  CHECK(window({"NSA_USE_FA2=1"}, 15) == "sdpa_math");
  CHECK(window({"NSA_USE_FA2=1"}, 16) == "fa2_varlen");
}

TEST_CASE("an FA-2 minimum of 0 or less means never, in every phase", "[kernels][routing]") {
  for (const char* entry : {"NSA_FA2_MIN_LEN_WIN=0", "NSA_FA2_MIN_LEN_WIN=-1"}) {
    CHECK(window({"NSA_USE_FA2=1", entry}, 2048) == "sdpa_math");
    CHECK(window({entry}, 2048) == "sdpa_math");
    const Router router(inputs({"NSA_USE_FA2=1", entry}));
    CHECK(chosen(router, Stage::attend_window, decode(2048)) == "sdpa_math");
  }
}

TEST_CASE("forcing a form of FA-2 replaces the other form and nothing else", "[kernels][routing]") {
  CHECK(window({"NSA_FA2_FORCE_DENSE=1"}, 2048) == "fa2_dense");
  CHECK(window({"NSA_WIN_FORCE_DENSE=1"}, 2048) == "fa2_dense");
  CHECK(compressed({"NSA_WIN_FORCE_DENSE=1"}, 2048) == "fa2_varlen");
  CHECK(window({"NSA_FA2_FORCE_DENSE=1", "NSA_FA2_FORCE_VARLEN=1"}, 2048) == "fa2_varlen");
  CHECK(window({"NSA_FA2_FORCE_DENSE=1", "NSA_USE_FA2=0"}, 2048) == "sdpa_math");
  CHECK(window({"NSA_USE_FA2=1", "NSA_ALLOW_SLIDING_FA2=0"}, 2048) == "sdpa_math");
  CHECK(compressed({"NSA_USE_FA2=1", "NSA_ALLOW_SLIDING_FA2=0"}, 2048) == "fa2_varlen");
}

TEST_CASE("the prefill mode is a decision of the composites", "[kernels][routing]") {
  const auto mode = [](Entries entries, const Problem& p) {
    return chosen(Router(inputs(std::move(entries))), Stage::attention, p);
  };
  CHECK(mode({"NSA_PREFILL_BATCHED=0"}, prefill(64)) == "sequential");
  CHECK(mode({"NSA_PREFILL_BATCHED=1", "NSA_PREFILL_TILE=64"}, prefill(64)) == "sequential");
  CHECK(mode({"NSA_PREFILL_TILE=0"}, prefill(64)) == "batched");
  CHECK(mode({"NSA_PREFILL_TILE=64"}, decode(64)) == "batched");
}

TEST_CASE("a switch for a row that this build lacks is counted as a fallback",
          "[kernels][routing]") {
  const std::vector<Variant> rows{row<Stage::attend_selected>("gather")};
  Router::Inputs in = inputs({"NSA_FORCE_SEL_MASK=1"});
  in.rows = rows;
  const Router router(std::move(in));
  const Choice choice = router.choose(Stage::attend_selected, prefill(64));
  CHECK(choice.variant->name == "gather");
  CHECK(choice.source == Source::built_in);
  REQUIRE(choice.fallback_reason != nullptr);
  CHECK(std::string(choice.fallback_reason) ==
        "masked: unknown to this build (NSA_FORCE_SEL_MASK=1)");
}

TEST_CASE("what is ruled out runs where nothing else can, and says so", "[kernels][routing]") {
  const std::vector<Variant> rows{row<Stage::attend_window>("fa2_varlen")};
  Router::Inputs in = inputs({"NSA_USE_FA2=0"});
  in.rows = rows;
  const Router router(std::move(in));
  const Choice choice = router.choose(Stage::attend_window, prefill(64));
  CHECK(choice.variant->name == "fa2_varlen");
  CHECK(choice.fallback_reason != nullptr);
}

TEST_CASE("constants come from the environment", "[kernels][routing]") {
  const AttentionOptions c = options_from(
      environment({"NSA_ROPE_SCALE=2.5", "NSA_FORCE_BRANCH=sel", "NSA_FORCE_UNIFORM_GATE=yes"}));
  CHECK(c.rope_scale == 2.5);
  CHECK(c.force_branch == Branch::sel);
  CHECK(c.uniform_gate);
  for (const char* entry : {"NSA_ROPE_SCALE=0", "NSA_ROPE_SCALE=-3", "NSA_ROPE_SCALE=nan"}) {
    CHECK(options_from(environment({entry})).rope_scale == 1.0);
  }
  CHECK_FALSE(options_from(environment({"NSA_FORCE_BRANCH=all"})).force_branch);
  CHECK(Router(inputs({"NSA_FORCE_BRANCH=all"})).warnings().size() == 1);
}
