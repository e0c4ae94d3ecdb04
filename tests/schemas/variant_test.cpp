#include "nsa/schemas/variant_text.hpp"

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

TEST_CASE("a variant's text leads back to the variant", "[schemas]") {
  const VariantId plain{{"ranges"}, "ranges_v2", {}};
  CHECK(to_string(plain) == "ranges/ranges_v2");
  CHECK(parse_variant_id("ranges/ranges_v2") == plain);
  const VariantId tuned{{"attend_selected"}, "fused_query", {{"bq", 64}, {"st", 3}}};
  CHECK(to_string(tuned) == "attend_selected/fused_query.bq=64.st=3");
  CHECK(parse_variant_id(to_string(tuned)) == tuned);
  const VariantId fused{{"score", "ranges"}, "two-in-1", {{"tile_m", 0}}};
  CHECK(to_string(fused) == "score+ranges/two-in-1.tile_m=0");
  CHECK(parse_variant_id(to_string(fused)) == fused);
  const VariantId below{{"score"}, "x", {{"a", -3}, {"l2", 3}}};
  CHECK(to_string(below) == "score/x.a=-3.l2=3");
  CHECK(parse_variant_id(to_string(below)) == below);
}

TEST_CASE("the spelling of coordinates before names the same variant", "[schemas]") {
  const VariantId tuned{{"attend_selected"}, "fused_query", {{"bq", 64}, {"st", 3}}};
  CHECK(parse_variant_id("attend_selected/fused_query.bq64.st3") == tuned);
  CHECK(parse_variant_id("attend_selected/fused_query.bq=64.st3") == tuned);
  CHECK(parse_point("bq=64.st=3", "") == tuned.point);
  CHECK(parse_point("bq=64;st=3", "") == tuned.point);
  CHECK(parse_point("bq64.st3", "") == tuned.point);
  CHECK(parse_point("", "").empty());
  CHECK(with_current_point("a/b.bq64 prefill 1x8") == "a/b.bq=64 prefill 1x8");
  CHECK(with_current_point("no variant.bq64") == "no variant.bq64");
  CHECK(with_older_point("a/b.bq=64.st=3 x=1") == "a/b.bq64.st3 x=1");
}

TEST_CASE("coordinates that were called otherwise before are read by the names of today",
          "[schemas]") {
  const auto text = [](const char* id) { return to_string(parse_variant_id(id)); };
  CHECK(text("attend_selected/fused_query.t14") == "attend_selected/fused_query.bq=14");
  CHECK(text("attend_selected/fused_block.c512") == "attend_selected/fused_block.chunk=512");
  CHECK(text("attend_selected/packed.rn0") == "attend_selected/packed.reserve_rows=0");
  CHECK(text("attend_selected/varlen_v2.rk0") == "attend_selected/varlen_v2.reserve_keys=0");
  const Json json = parse_json(
      R"({"stages": ["attend_selected"], "name": "fused_query", "point": {"t": 30}})", "test");
  CHECK(to_string(json.get<VariantId>()) == "attend_selected/fused_query.bq=30");
  // Names of others stay what they are.
  CHECK(text("attend_selected/theirs.t14") == "attend_selected/theirs.t=14");
  CHECK(text("attend_selected/fused_query.c14") == "attend_selected/fused_query.c=14");
  CHECK(text("score/packed.rn1") == "score/packed.rn=1");
}

TEST_CASE("a text that names no variant is refused with what is wrong", "[schemas]") {
  const auto refused = [](std::string_view text) {
    const auto message = test::message_of([&] { (void)parse_variant_id(text); });
    CAPTURE(text, message);
    CHECK(message.starts_with("variant '"));
    CHECK(message.size() < 300);
    return message;
  };
  CHECK(refused("masked").find("no '/'") != std::string::npos);
  CHECK(refused("/masked").find("no stage") != std::string::npos);
  CHECK(refused("ranges/").find("no name") != std::string::npos);
  CHECK(refused("a+/b").find("no stage") != std::string::npos);
  CHECK(refused("a/b c").find("characters other than") != std::string::npos);
  CHECK(refused("a/b.bq").find("no number") != std::string::npos);
  CHECK(refused("a/b.bq=").find("no number") != std::string::npos);
  CHECK(refused("a/b.bq=6x").find("no number") != std::string::npos);
  CHECK(refused("a/b.=64").find("no coordinate name") != std::string::npos);
  CHECK(refused("a/b.bq99999999999999999999").find("64 bits") != std::string::npos);
  CHECK(refused("a/b.64").find("no coordinate name") != std::string::npos);
  CHECK(refused("a/b.bq=99999999999999999999").find("64 bits") != std::string::npos);
  refused("a/b/c");
  refused("");
  refused(std::string(1 << 20, 'x'));
}

}  // namespace
}  // namespace nsa
