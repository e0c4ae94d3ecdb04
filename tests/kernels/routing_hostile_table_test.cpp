// Tables that are right JSON and wrong in what they say.
#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Router with(ThresholdTable table) {
  Router::Inputs in = inputs();
  in.table = std::move(table);
  in.shipped = always(in.device, "varlen_v1");
  return Router(std::move(in));
}

bool warns(const Router& router, const std::string& part) {
  for (const std::string& line : router.warnings()) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("decisions of another executor are not used", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed");
  t.executor = "my_triton";
  const Router router = with(std::move(t));
  CHECK(router.choose(Stage::attend_selected, prefill(64)).source == Source::shipped);
  CHECK(warns(router, "my_triton"));
}

TEST_CASE("a variant or point that this build does not know skips its range, not the file",
          "[kernels][routing]") {
  for (const VariantId& unknown :
       {id("attend_selected", "warp_drive"), id("attend_selected", "fused_query", {{"bq", 7}}),
        id("attend_selected", "fused_query"), id("attend_selected", "fused_block")}) {
    const Router router = with(table(
        cpu(), prefill(64),
        {decision("attend_selected",
                  {range(0, 512, unknown), range(512, {}, id("attend_selected", "packed"))})}));
    const Choice choice = router.choose(Stage::attend_selected, prefill(64));
    INFO(to_string(unknown));
    CHECK(choice.source == Source::shipped);
    REQUIRE(choice.fallback_reason != nullptr);
    CHECK(chosen(router, Stage::attend_selected, prefill(512)) == "packed");
    CHECK(warns(router, "1 range skipped"));
  }
}

TEST_CASE("a table cannot choose the slow path or another answer", "[kernels][routing]") {
  const Router slow = with(always(cpu(), "ranges"));
  CHECK(chosen(slow, Stage::attend_selected, prefill(64)) == "varlen_v1");
  const Router dense = with(
      table(cpu(), prefill(64), {decision("attention", {range(0, {}, id("attention", "dense"))})}));
  CHECK(chosen(dense, Stage::attention, prefill(64)) == "batched");
}

TEST_CASE("another source hash makes a range stale but used", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed");
  t.classes[0].decisions[0].ranges[0].source_hash = "h0";
  const Router router = with(std::move(t));
  const Choice choice = router.choose(Stage::attend_selected, prefill(64));
  CHECK(choice.variant->name == "packed");
  CHECK(choice.stale);
  CHECK(warns(router, "stale"));
  CHECK(!with(always(cpu(), "packed")).choose(Stage::attend_selected, prefill(64)).stale);
}

TEST_CASE("a validator is yes, no or unknown, and only no makes stale", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed");
  t.validators = validators_of(cpu());
  CHECK(!with(t).choose(Stage::attend_selected, prefill(64)).stale);
  t.validators.driver = "580.95";  // not known here
  CHECK(!with(t).choose(Stage::attend_selected, prefill(64)).stale);
  t.validators.compiler = "another compiler";
  const Router router = with(t);
  CHECK(router.choose(Stage::attend_selected, prefill(64)).stale);
  CHECK(warns(router, "compiler was another compiler"));
  const auto checks = check_validators(t.validators, validators_of(cpu()));
  const auto holds = [&](std::string_view name) {
    for (const ValidatorCheck& check : checks) {
      if (check.name == name) return check.holds;
    }
    throw ContractError("no such validator");
  };
  CHECK(holds("compiler") == Holds::no);
  CHECK(holds("driver") == Holds::unknown);
  CHECK(holds("device_name") == Holds::yes);
}

TEST_CASE("stages and spans that the runtime does not know are passed over", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed");
  Decision foreign = decision("their_stage", {range(0, {}, id("their_stage", "x"))});
  Decision span = decision("score", {range(0, {}, id("score", "p_cmp_bf16"))});
  span.stages = {"score", "ranges"};
  t.classes[0].decisions.push_back(foreign);
  t.classes[0].decisions.push_back(span);
  const Router router = with(std::move(t));
  CHECK(chosen(router, Stage::attend_selected, prefill(64)) == "packed");
  CHECK(chosen(router, Stage::score, prefill(64)) == "exact");
}

TEST_CASE("a runner-up that is no id of ours is only shown", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "dense_prefix", decode(8192));
  t.classes[0].decisions[0].ranges[0].evidence.runner_up = "%%%";
  CHECK(with(std::move(t)).choose(Stage::attend_selected, decode(8192)).variant != nullptr);
}
